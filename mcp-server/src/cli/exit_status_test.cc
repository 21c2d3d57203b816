#include "cli/exit_status.h"

#include <doctest/doctest.h>

using namespace opguard;

namespace {

mcp::ToolResult Answer(const char* status) {
  mcp::ToolResult result;
  result.structured = {{"status", status}};
  return result;
}

}  // namespace

TEST_CASE("ExitStatus lets a CI job tell equal, different and unknown apart") {
  CHECK(cli::ExitStatus("first_diff", Answer("identical")) == 0);
  CHECK(cli::ExitStatus("first_diff", Answer("diverged")) == 1);
  for (const char* unknown :
       {"no_difference_in_coverage", "self_nondeterministic", "incomparable", "incomplete"}) {
    CHECK(cli::ExitStatus("first_diff", Answer(unknown)) == 2);
  }
}

TEST_CASE("ExitStatus of run_pair is 0 only for a complete pair") {
  CHECK(cli::ExitStatus("run_pair", Answer("complete")) == 0);
  CHECK(cli::ExitStatus("run_pair", Answer("running")) == 2);
  CHECK(cli::ExitStatus("run_pair", Answer("cancelled")) == 2);
  CHECK(cli::ExitStatus("run_pair", Answer("incomplete")) == 2);
  CHECK(cli::ExitStatus("run_pair", Answer("failed")) == 3);
}

TEST_CASE("ExitStatus of an error is 3 whatever the tool") {
  mcp::ToolResult error;
  error.is_error = true;
  for (const char* tool : {"first_diff", "run_pair", "source_at"}) {
    CHECK(cli::ExitStatus(tool, error) == 3);
  }
}
