#include "protocol/call_state.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <future>
#include <stdexcept>
#include <thread>

namespace opguard::mcp {
namespace {

using std::chrono::milliseconds;

struct Fixture {
  std::chrono::steady_clock::time_point now{};
  std::vector<Json> sent;
  CallState call{"token", [this](const Json& message) { sent.push_back(message); },
                 [this] { return now; }};
};

TEST_CASE_FIXTURE(Fixture, "CallState reports increasing progress at most twice a second") {
  call.Progress(1, 10, "one");
  now += milliseconds(499);
  call.Progress(2, 10, "two");
  now += milliseconds(1);
  call.Progress(3, 10, "three");
  now += milliseconds(500);
  call.Progress(3, 10, "again");
  call.Progress(2, 10, "back");
  REQUIRE(sent.size() == 2);
  CHECK(sent[0] == Json::parse(R"({"jsonrpc":"2.0","method":"notifications/progress","params":
      {"progressToken":"token","progress":1.0,"total":10.0,"message":"one"}})"));
  CHECK(sent[1]["params"]["progress"] == 3.0);
}

TEST_CASE_FIXTURE(Fixture, "CallState tells a new phase after ten seconds, still increasing") {
  call.Progress(5, std::nullopt, "building");
  now += milliseconds(10000);
  call.Progress(5, std::nullopt, "building");
  CHECK(sent.size() == 1);
  call.Progress(5, std::nullopt, "running");
  REQUIRE(sent.size() == 2);
  CHECK(sent[1]["params"]["progress"].get<double>() > 5);
  CHECK(sent[1]["params"]["message"] == "running");
}

TEST_CASE_FIXTURE(Fixture, "CallState drops progress that is no number, and after the end") {
  call.Progress(std::nan(""), std::nullopt, "");
  call.Progress(1, std::nan(""), "");
  REQUIRE(sent.size() == 1);
  CHECK_FALSE(sent[0]["params"].contains("total"));
  CHECK(call.Close());
  now += milliseconds(1000);
  call.Progress(2, std::nullopt, "");
  CHECK(sent.size() == 1);
}

TEST_CASE("CallState sends no progress without a token") {
  CallState call(nullptr, nullptr);
  call.Progress(1, 2, "");
  CHECK(call.Close());
}

TEST_CASE_FIXTURE(Fixture, "CallState runs each action once when it is cancelled") {
  int before = 0, after = 0;
  call.OnCancel([&] { ++before; });
  call.OnCancel([] { throw std::runtime_error("of no consequence"); });
  CHECK_FALSE(call.cancelled());
  CHECK(call.Cancel(CallState::Reason::kClient));
  CHECK(call.cancelled());
  CHECK_FALSE(call.Cancel(CallState::Reason::kShutdown));
  call.OnCancel([&] { ++after; });
  call.Progress(1, std::nullopt, "");
  CHECK(before == 1);
  CHECK(after == 1);
  CHECK(sent.empty());
  CHECK_FALSE(call.Close());
}

TEST_CASE_FIXTURE(Fixture, "CallState drops actions once it is closed") {
  bool is_run = false;
  call.OnCancel([&] { is_run = true; });
  CHECK(call.Close());
  CHECK_FALSE(call.Cancel(CallState::Reason::kClient));
  call.OnCancel([&] { is_run = true; });
  CHECK_FALSE(is_run);
}

TEST_CASE_FIXTURE(Fixture, "CallState is answered when the server stops") {
  CHECK(call.Cancel(CallState::Reason::kShutdown));
  CHECK(call.Close());
}

TEST_CASE_FIXTURE(Fixture, "CallState waits in Close for an action that runs") {
  std::promise<void> started, release;
  std::atomic<bool> is_done{false};
  call.OnCancel([&] {
    started.set_value();
    release.get_future().wait();
    is_done = true;
  });
  std::thread canceller([&] { call.Cancel(CallState::Reason::kClient); });
  started.get_future().wait();
  std::thread closer([&] {
    call.Close();
    CHECK(is_done);
  });
  release.set_value();
  canceller.join();
  closer.join();
}

}  // namespace
}  // namespace opguard::mcp
