#include "known_ops.h"

#include <fmt/format.h>

namespace opguard::analysis {
namespace {

constexpr std::string_view kDocs = "PyTorch documentation, torch.use_deterministic_algorithms";
constexpr std::string_view kMeasured = "measured on an H200: every replay distinct";
constexpr std::string_view kDeterministic = "torch.use_deterministic_algorithms(True)";
constexpr std::string_view kAtomics = "float atomics add in an order that changes from run to run";

constexpr KnownOp kTable[] = {
    {"aten::index_put*", "cpu", "accumulate=True",
     "with two threads or more, accumulation adds in an order that changes from run to run",
     "torch.use_deterministic_algorithms(True), or one thread", "pytorch#51366"},
    {"aten::_index_put_impl_", "cpu", "accumulate=True",
     "with two threads or more, accumulation adds in an order that changes from run to run",
     "torch.use_deterministic_algorithms(True), or one thread", "pytorch#51366"},
    {"aten::index_put*", "cuda", "accumulate=True", kAtomics, kDeterministic, kDocs},
    {"aten::index_add*", "cuda", "", kAtomics,
     "torch.use_deterministic_algorithms(True), or index_put with sorted indices", kMeasured},
    {"aten::scatter_add*", "cuda", "", kAtomics,
     "torch.use_deterministic_algorithms(True), or index_put with sorted indices", kMeasured},
    {"aten::scatter_reduce*", "cuda", "", kAtomics, kDeterministic, kDocs},
    {"aten::scatter*", "cuda", "", "with duplicate indices the winner depends on timing",
     "make the indices unique", kDocs},
    {"aten::cumsum*", "cuda", "", "the parallel scan adds in an order that changes from run to run",
     "compare in a higher precision; the compiled kernel ignores the deterministic switch",
     kMeasured},
    {"aten::upsample_*_backward", "cuda", "", kAtomics,
     "the deterministic switch raises here; use another interpolation", kMeasured},
    {"aten::embedding_dense_backward", "cuda", "", kAtomics, kDeterministic, kDocs},
    {"aten::embedding_bag*", "cuda", "", kAtomics, kDeterministic, kDocs},
    {"aten::bincount", "cuda", "", kAtomics, kDeterministic, kDocs},
    {"aten::histc", "cuda", "", kAtomics, kDeterministic, kDocs},
    {"aten::_scaled_dot_product_flash_attention_backward", "cuda", "",
     "the gradient of the query is summed by atomics",
     "deterministic algorithms (strict, not warn_only), or the math backend", kMeasured},
    {"aten::_scaled_dot_product_cudnn_attention_backward", "cuda", "",
     "the gradient of the query is summed by atomics",
     "deterministic algorithms (strict, not warn_only), or the math backend", kMeasured},
    {"aten::_flash_attention_backward", "cuda", "",
     "the gradient of the query is summed by atomics",
     "deterministic algorithms (strict, not warn_only), or the math backend", kMeasured},
    {"aten::convolution*", "cuda", "", "cuDNN may choose another algorithm in each run",
     "torch.backends.cudnn.deterministic=True and benchmark=False", kDocs},
    {"aten::cudnn_convolution*", "cuda", "", "cuDNN may choose another algorithm in each run",
     "torch.backends.cudnn.deterministic=True and benchmark=False", kDocs},
    {"aten::mm", "cuda", "", "TF32, the cuBLAS workspace and its heuristics choose the kernel",
     "CUBLAS_WORKSPACE_CONFIG=:4096:8, TF32 off", kDocs},
    {"aten::bmm", "cuda", "", "TF32, the cuBLAS workspace and its heuristics choose the kernel",
     "CUBLAS_WORKSPACE_CONFIG=:4096:8, TF32 off", kDocs},
    {"aten::addmm", "cuda", "", "TF32, the cuBLAS workspace and its heuristics choose the kernel",
     "CUBLAS_WORKSPACE_CONFIG=:4096:8, TF32 off", kDocs},
    {"aten::linear", "cuda", "", "TF32, the cuBLAS workspace and its heuristics choose the kernel",
     "CUBLAS_WORKSPACE_CONFIG=:4096:8, TF32 off", kDocs},
    {"aten::matmul", "cuda", "", "TF32, the cuBLAS workspace and its heuristics choose the kernel",
     "CUBLAS_WORKSPACE_CONFIG=:4096:8, TF32 off", kDocs},
    {"c10d::allreduce*", "", "", "the order of the sum depends on algorithm, protocol and ring",
     "fix NCCL_ALGO and NCCL_PROTO", "NCCL documentation, environment variables"},
    {"c10d::_reduce_scatter*", "", "",
     "the order of the sum depends on algorithm, protocol and ring", "fix NCCL_ALGO and NCCL_PROTO",
     "NCCL documentation, environment variables"},
};

bool Fits(std::string_view pattern, std::string_view name) {
  const auto star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

bool HasLine(std::string_view text, std::string_view line) {
  for (auto at = text.find(line); at != std::string_view::npos; at = text.find(line, at + 1)) {
    const bool begins = at == 0 || text[at - 1] == '\n';
    const auto end = at + line.size();
    if (begins && (end == text.size() || text[end] == '\n')) return true;
  }
  return false;
}

}  // namespace

std::string KnownExplanation(std::string_view name, std::string_view device,
                             std::string_view arguments) {
  for (const KnownOp& known : kTable) {
    if (!Fits(known.name, name) || !device.starts_with(known.device)) continue;
    if (!known.argument.empty() && !HasLine(arguments, known.argument)) continue;
    return fmt::format(
        "{} is known to be nondeterministic or to depend on a switch: {}. Remedy: "
        "{}. Source: {}.",
        name, known.when, known.remedy, known.source);
  }
  return {};
}

}  // namespace opguard::analysis
