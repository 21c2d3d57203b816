#include "opguard/store/records.h"

#include <tuple>

namespace opguard::store {
namespace {

// Every list of a batch, so that nothing is forgotten in two places.
template <typename B>
auto ListsOf(B& batch) {
  return std::tie(batch.lanes, batch.schemas, batch.arguments, batch.insides, batch.slots,
                  batch.geometries, batch.modules, batch.sources, batch.frames, batch.stacks,
                  batch.steps, batch.nodes, batch.storages, batch.ops, batch.tensors,
                  batch.statistics, batch.rngs, batch.gaps, batch.notes, batch.trace,
                  batch.environment);
}

}  // namespace

bool Batch::empty() const {
  return std::apply([](const auto&... list) { return (list.empty() && ...); }, ListsOf(*this));
}

void Batch::clear() {
  std::apply([](auto&... list) { (list.clear(), ...); }, ListsOf(*this));
}

}  // namespace opguard::store
