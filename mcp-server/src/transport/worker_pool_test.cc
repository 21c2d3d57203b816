#include "transport/worker_pool.h"

#include <doctest/doctest.h>

#include <atomic>
#include <future>

namespace opguard::mcp {
namespace {

using std::chrono::seconds;

TEST_CASE("WorkerPool runs a task while others block, up to its limit") {
  WorkerPool pool(3);
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  for (int i = 0; i < 2; ++i) pool.Run([released] { released.wait(); });
  std::promise<void> quick;
  pool.Run([&] { quick.set_value(); });
  CHECK(quick.get_future().wait_for(seconds(30)) == std::future_status::ready);
  release.set_value();
  CHECK(pool.Stop(seconds(30)));
}

TEST_CASE("WorkerPool runs all tasks that exceed its threads") {
  WorkerPool pool(2);
  std::atomic<int> done{0};
  std::promise<void> all;
  for (int i = 0; i < 100; ++i) {
    pool.Run([&] {
      if (++done == 100) all.set_value();
    });
  }
  CHECK(all.get_future().wait_for(seconds(30)) == std::future_status::ready);
  CHECK(pool.Stop(seconds(30)));
}

TEST_CASE("WorkerPool leaves a task behind that does not end") {
  auto release = std::make_shared<std::promise<void>>();
  auto started = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  {
    WorkerPool pool(1);
    pool.Run([=] {
      started->set_value();
      release->get_future().wait();
      ended->set_value();
    });
    started->get_future().wait();
    bool is_dropped_run = false;
    pool.Run([&] { is_dropped_run = true; });
    CHECK_FALSE(pool.Stop(std::chrono::milliseconds(1)));
    pool.Run([&] { is_dropped_run = true; });
    CHECK_FALSE(is_dropped_run);
  }
  release->set_value();
  ended->get_future().wait();
}

}  // namespace
}  // namespace opguard::mcp
