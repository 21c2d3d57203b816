#include <doctest/doctest.h>

#include <filesystem>

#include "runner/run_pair.h"
#include "runner/torch_test_support.h"

namespace opguard::runner {
namespace {

namespace fs = std::filesystem;
using testing::Folder;
using testing::kPython;
using testing::Skips;
using namespace std::chrono_literals;

constexpr char kTrain[] = R"(
import os, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=float(os.environ.get("LR", "0.1")))
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(3, 4)).sum().backward()
    optimizer.step()
)";

TEST_CASE("A real training is captured on both sides") {
  if (Skips(!*kPython, "OPGUARD_PYTHON is not set")) return;
  std::error_code error;
  const fs::directory_iterator sources(OPGUARD_SOURCE_DIR "/capture/src/torch", error);
  if (Skips(sources == fs::directory_iterator{}, "the capture library has no sources")) return;
  const Folder folder;
  folder.Write("train.py", kTrain);
  PairSpec spec;
  spec.a.argv = {kPython, "train.py"};
  spec.a.workdir = folder.path();
  spec.b = spec.a;
  spec.b.env["LR"] = "0.2";
  CHECK(Preflight(spec, folder.path() + "/home").empty());
  Runner runner(analysis::PairStore(folder.path() + "/home"));
  const auto id = runner.Start(spec);
  REQUIRE(id);
  runner.Wait(*id, 280s, nullptr);
  const auto report = runner.Report(*id);
  REQUIRE(report);
  for (const std::string& warning : report->warnings) MESSAGE(warning);
  CHECK(report->status == "complete");
  REQUIRE(report->sides.size() == 2);
  CHECK(report->sides[0].ops > 10);
  CHECK(report->sides[0].ops == report->sides[1].ops);
  CHECK(report->sides[0].trace_state == "complete");
}

}  // namespace
}  // namespace opguard::runner
