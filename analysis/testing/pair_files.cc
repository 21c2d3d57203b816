#include "analysis/testing/pair_files.h"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "opguard/store/trace_writer.h"

namespace opguard::analysis::testing {
namespace {

template <typename T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace

TempFolder::TempFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "opguard_test_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void WriteTrace(const TraceBuilder& trace, const std::string& path, const std::string& status) {
  TraceBuilder copy = trace;
  auto writer = Must(store::TraceWriter::Create(path));
  Must(writer->Append(copy.Take()));
  if (status == "incomplete") {
    Must(writer->Commit());
  } else {
    Must(writer->Finish(status));
  }
}

std::unique_ptr<TracePair> MakePair(const TraceBuilder& a, const TraceBuilder& b) {
  const TempFolder folder;
  WriteTrace(a, folder.File("a.opguard"));
  WriteTrace(b, folder.File("b.opguard"));
  return Must(LoadPair(folder.File("a.opguard"), folder.File("b.opguard")));
}

}  // namespace opguard::analysis::testing
