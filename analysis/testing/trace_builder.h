// Builds a trace in a few readable lines, for tests:
//
//   TraceBuilder t;
//   t.Step().Phase(Phase::kForward).Module("h.0.attn", "Attention");
//   t.Op("aten::mm").In(Tensor("x")).In(Tensor("w")).Out(Tensor("y"));
//   t.Op("aten::add.Tensor").In(Tensor("y")).Arg("alpha", "1").Out(Tensor("z"));
//   auto pair = MakePair(t, other);   // pair_files.h
//
// Every id follows the rules of schemas/trace.md, so that equal calls give equal traces.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "opguard/store/records.h"

namespace opguard::analysis::testing {

using store::Phase;
using store::TensorState;

// A 64-bit value that stands for the content called `label`.
std::uint64_t ValueOf(const std::string& label);

// A symbolic tensor: a storage, a geometry and a value. Equal names are one storage; the value is
// that called like the storage until Value() names another. A value type: every method returns a
// changed copy.
struct Tensor {
  explicit Tensor(std::string storage_name, std::vector<std::int64_t> tensor_sizes = {4, 4});

  Tensor Value(const std::string& label) const;      // another content in the same storage
  Tensor Permuted(const std::string& how) const;     // the same elements in another order
  Tensor In(const std::string& storage_name) const;  // the same content in another storage
  Tensor Dtype(const std::string& name) const;
  Tensor Device(const std::string& name) const;
  Tensor Sizes(std::vector<std::int64_t> values) const;    // contiguous again
  Tensor Strides(std::vector<std::int64_t> values) const;  // instead of contiguous ones
  Tensor Offset(std::int64_t elements) const;
  Tensor Layout(const std::string& name) const;
  Tensor Trusted() const;
  Tensor View() const;        // no fingerprint of its own
  Tensor Unreadable() const;  // fingerprint NULL

  std::string storage;
  std::vector<std::int64_t> sizes, strides;
  std::string dtype = "float32", device = "cpu", layout = "strided";
  std::int64_t storage_offset = 0;
  std::uint64_t fingerprint, unordered;
  TensorState state = TensorState::kFingerprinted;
};

// Methods that describe the op apply to the one opened by the last Op(). Copyable: copy a builder
// to continue one trace in two ways. Not thread-safe.
class TraceBuilder {
 public:
  TraceBuilder();
  ~TraceBuilder();
  TraceBuilder(const TraceBuilder&);
  TraceBuilder& operator=(const TraceBuilder&);

  // Context of the ops that follow.
  TraceBuilder& Step();  // begins the next step; the first op begins step 1 by itself
  TraceBuilder& Phase(store::Phase phase);
  TraceBuilder& Lane(const std::string& name);  // "main" at first
  TraceBuilder& Module(const std::string& name, const std::string& class_name = "Module");
  TraceBuilder& NoModule();
  TraceBuilder& At(const std::string& path, std::int64_t line,
                   const std::string& function = "f");  // a stack of one frame
  // Stack from the outermost frame to the innermost, each "path:line:function".
  TraceBuilder& Stack(const std::vector<std::string>& frames);

  // The op. `name` is "aten::add" or "aten::add.Tensor".
  TraceBuilder& Op(const std::string& name);
  TraceBuilder& In(const Tensor& tensor);  // at the next input position
  TraceBuilder& InList(const std::vector<Tensor>& tensors);
  TraceBuilder& Out(const Tensor& tensor);
  TraceBuilder& OutList(const std::vector<Tensor>& tensors);
  TraceBuilder& Mut(std::int32_t position, const Tensor& tensor, std::int32_t item = -1);
  TraceBuilder& Arg(const std::string& name, const std::string& value);
  TraceBuilder& Inside(const std::string& line);
  TraceBuilder& Traits(std::uint32_t traits);
  TraceBuilder& Signature(const std::string& signature);
  TraceBuilder& Flags(std::uint32_t flags);
  // Autograd node of a backward op; each call with another forward op makes a new node.
  TraceBuilder& Node(const std::string& name, std::int64_t forward_op = 0);
  TraceBuilder& Rng(const std::string& generator, std::uint64_t seed, std::uint64_t before,
                    std::uint64_t after);
  // Statistic of the tensor added last.
  TraceBuilder& Statistic(double minimum, double maximum, std::int64_t zeros = 0,
                          std::int64_t nans = 0, std::int64_t infs = 0);
  TraceBuilder& Note(const std::string& code, const std::string& text);
  std::int64_t LastOp() const;  // file id of the op opened last, 0 before the first

  // The trace as a whole.
  TraceBuilder& Meta(const std::string& key, const std::string& value);
  TraceBuilder& Environment(const std::string& key, const std::string& value);
  TraceBuilder& Gap(std::int64_t first_step, std::int64_t last_step, const std::string& reason);
  TraceBuilder& Source(const std::string& path, const std::string& text);
  // Makes `tensor`'s storage an alias of an older one.
  TraceBuilder& Alias(const std::string& storage, const std::string& older);

  // Closes the open op and returns the rows gathered since the last Take().
  store::Batch Take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace opguard::analysis::testing
