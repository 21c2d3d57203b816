// Single ops of one trace with names instead of ids: what the tools show.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opguard/store/result.h"
#include "opguard/store/trace_reader.h"

namespace opguard::tools {

struct TensorView {
  std::string slot;      // in0, in1[3], out0, mut0
  std::string argument;  // name in the operator's schema, "" if unknown
  std::string dtype, device, sizes, strides, layout;
  std::int64_t storage_offset = 0, storage = 0;
  store::TensorRow row{};
  std::optional<store::StatisticRow> statistic;
};

struct OpView {
  store::OpRow row{};
  std::string name;  // aten::add.Tensor
  std::string signature, arguments, inside, module, module_class, lane, node;
  std::int64_t step = 0, forward_op = 0;
  std::vector<TensorView> tensors;
  std::vector<store::FrameRow> frames;  // innermost first
};

// Not thread-safe; one per call. Holds the trace's interned facts.
class SideReader {
 public:
  // Errors as TraceReader::Open.
  [[nodiscard]] static Result<std::unique_ptr<SideReader>> Open(const std::string& path);

  const store::TraceFacts& facts() const { return facts_; }
  store::TraceReader& reader() const { return *reader_; }
  const std::string& path() const { return path_; }

  // The op at a 0-based position in ascending id (a Trace column index), or with a file id.
  [[nodiscard]] Result<OpView> OpAt(std::int64_t index) const;
  [[nodiscard]] Result<OpView> OpWithId(std::int64_t id) const;
  // Frames of a stack, innermost first.
  std::vector<store::FrameRow> Frames(std::int64_t stack) const;

 private:
  SideReader(std::string path, std::unique_ptr<store::TraceReader> reader, store::TraceFacts facts);
  std::string path_;
  std::unique_ptr<store::TraceReader> reader_;
  store::TraceFacts facts_;
};

// Frames of a stack of a trace, innermost first; the walk is bounded against damaged files.
std::vector<store::FrameRow> FramesOf(const store::TraceFacts& facts, std::int64_t stack);

// "aten::add.Tensor"
std::string QualifiedName(const store::SchemaRow& schema);
// Text of a slot: "in1[3]".
std::string SlotText(const store::SlotRow& slot);
// Name of the schema argument or "" (outputs have none).
std::string ArgumentName(const std::string& signature, const store::SlotRow& slot);
const char* PhaseName(store::Phase phase);

// True for frames of torch, the standard library and OpGuard itself: machinery that a reader
// skips unless asked for it. Frames of other installed packages are not internal: bugs live there.
bool IsInternalFrame(const store::FrameRow& frame);
// True for files of an installed package.
bool IsInstalledFrame(const store::FrameRow& frame);
// Depth of the frame to show for a stack: the innermost that is not internal, else 0; -1 if empty.
int ShownFrame(const std::vector<store::FrameRow>& frames);
// Depth of the innermost frame in the user's own code (neither internal nor installed), or -1.
int UserFrame(const std::vector<store::FrameRow>& frames);

}  // namespace opguard::tools
