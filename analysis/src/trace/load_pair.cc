#include <future>
#include <new>
#include <utility>

#include "dictionary_builder.h"
#include "opguard/analysis/trace.h"
#include "trace_columns.h"

namespace opguard::analysis {
namespace {

// Runs `work` for A on a second thread and for B on this one; A's error wins.
template <typename Work>
Result<void> OnBothSides(const Work& work) {
  const auto guarded = [&work](Side side) -> Result<void> {
    try {
      return work(side);
    } catch (const std::bad_alloc&) {
      return Fail(ErrorCode::kIo, "not enough memory to load the traces",
                  "record fewer steps, or compare on a machine with more memory");
    }
  };
  auto of_a = std::async(std::launch::async, guarded, Side::kA);
  Result<void> of_b = guarded(Side::kB);
  OPGUARD_TRY(of_a.get());
  return of_b;
}

struct SideLoad {
  std::unique_ptr<store::TraceReader> reader;
  Translation translation;
};

Result<void> ReadFacts(const std::string& path, SideLoad& load, Trace& trace) {
  trace.path = path;
  OPGUARD_ASSIGN(load.reader, store::TraceReader::Open(path));
  OPGUARD_ASSIGN(trace.facts, load.reader->ReadFacts());
  return {};
}

}  // namespace

Result<std::unique_ptr<TracePair>> LoadPair(const std::string& path_a, const std::string& path_b) {
  auto pair = std::make_unique<TracePair>();
  SideLoad load_a, load_b;
  const auto trace_of = [&](Side side) -> Trace& { return side == Side::kA ? pair->a : pair->b; };
  const auto load_of = [&](Side side) -> SideLoad& { return side == Side::kA ? load_a : load_b; };

  OPGUARD_TRY(OnBothSides([&](Side side) {
    return ReadFacts(side == Side::kA ? path_a : path_b, load_of(side), trace_of(side));
  }));
  OPGUARD_TRY(BuildDictionary(pair->a.facts, pair->b.facts, pair->dictionary, load_a.translation,
                              load_b.translation));
  OPGUARD_TRY(OnBothSides([&](Side side) {
    return ReadColumns(*load_of(side).reader, load_of(side).translation, trace_of(side));
  }));
  return pair;
}

}  // namespace opguard::analysis
