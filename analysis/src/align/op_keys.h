// What makes two ops alike: keys of several strictness, value digests, and a similarity score.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "opguard/analysis/trace.h"

namespace opguard::analysis {

// From the strictest to the loosest; all hold the operator and whether it is a recompute.
enum class KeyLevel : std::uint8_t {
  kExact,         // + module, shapes, dtypes, arguments
  kModuleShapes,  // + module, shapes
  kModule,        // + module
  kShapes,        // + shapes
  kOperator,
};
constexpr std::array<KeyLevel, 5> kKeyLevels = {KeyLevel::kExact, KeyLevel::kModuleShapes,
                                                KeyLevel::kModule, KeyLevel::kShapes,
                                                KeyLevel::kOperator};

// Everything that the similarity score looks at. Digests of values are 0 where there is none.
struct OpFeatures {
  std::uint64_t operation;  // KeyLevel::kOperator; 0: not to be matched
  std::uint64_t module;     // 0: none
  std::uint64_t shapes, ranks, dtypes;
  std::uint64_t arguments;  // 0: none
  std::uint64_t inputs, outputs, first_input;
  std::uint64_t frame;   // innermost stack entry, 0: none
  std::uint32_t places;  // bit set of the argument and output positions that hold tensors
};

constexpr std::int32_t kNoMatch = 0;
constexpr std::int32_t kSameValueOnly = -1;  // other operators that made one value: a boundary

// Similarity of two ops: > 0 may match, the higher the better; kNoMatch; kSameValueOnly.
std::int32_t Similarity(const OpFeatures& a, const OpFeatures& b);

// Content hashes of the dictionary, shared by both sides.
class DictionaryHashes {
 public:
  explicit DictionaryHashes(const Dictionary& dictionary);

 private:
  friend class SideKeys;
  std::vector<std::uint64_t> schemas_, arguments_, modules_, slots_, shapes_, dtypes_;
  std::vector<std::uint32_t> place_bits_;       // of a slot
  std::vector<std::uint8_t> ranks_, is_large_;  // of a geometry
  std::vector<std::uint8_t> is_output_;         // of a slot: out or mut
  std::vector<std::uint8_t> is_mutated_;        // of a slot: mut
  std::vector<std::uint8_t> draws_;             // of a schema: outputs are no evidence
  std::vector<std::uint8_t> uninitialised_;     // of a schema: neither are these
};

// Keys of one side. The two that every op needs are kept (16 bytes an op), the rest is computed on
// demand. Immutable after construction.
class SideKeys {
 public:
  SideKeys(const Trace& trace, const DictionaryHashes& hashes);

  const Trace& trace() const { return trace_; }
  std::uint64_t exact(std::size_t op) const { return exact_[op]; }
  // Digest of the input values, 0 if no input has one.
  std::uint64_t inputs(std::size_t op) const { return inputs_[op]; }
  std::uint64_t Key(KeyLevel level, std::size_t op) const;
  // Digest of what the op wrote, 0 if that is no evidence (a draw, uninitialised memory, a view,
  // one element only).
  std::uint64_t Outputs(std::size_t op) const;
  // Operator and values read; 0 if no value was read.
  std::uint64_t Reads(std::size_t op) const;
  // Operator, values read and values written; 0 if no value of either is evidence.
  std::uint64_t Identity(std::size_t op) const;
  OpFeatures Features(std::size_t op) const;
  // Appends a digest of each value of the op that is evidence (more than one element): to
  // `weights` if its storage is in `weight_storages`, else to `others`.
  void AppendValues(std::size_t op, const std::vector<bool>& weight_storages,
                    std::vector<std::uint64_t>& weights, std::vector<std::uint64_t>& others) const;
  // Storages that ops of the optimizer phase write in place, by id.
  std::vector<bool> WeightStorages() const;
  // Over all ops; orders the two sides whichever is called A.
  std::uint64_t digest() const { return digest_; }

 private:
  struct Shape {
    std::uint64_t shapes, ranks, dtypes;
    std::uint32_t places;
  };
  std::uint64_t Operation(std::size_t op) const;
  Shape ShapeOf(std::size_t op) const;
  // Whether the tensor's fingerprint is evidence: it has one, and something was written to its
  // storage before. What an allocator hands out is as likely another tensor's old content.
  bool HasValue(std::size_t tensor) const;
  std::vector<bool> UnwrittenTensors() const;
  std::uint64_t Exact(std::size_t op) const;
  std::uint64_t Inputs(std::size_t op) const;

  const Trace& trace_;
  const DictionaryHashes& hashes_;
  const std::vector<bool> unwritten_;  // of a tensor
  std::vector<std::uint64_t> exact_, inputs_;
  std::uint64_t digest_ = 0;
};

}  // namespace opguard::analysis
