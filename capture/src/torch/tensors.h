// Reads tensors: what kind they are, their geometry, their digests. Never materialises
// copy-on-write memory and never changes a tensor.
#pragma once

#include <cstdint>

#include "hash.h"
#include "opguard/capture/fingerprint.h"
#include "opguard/store/records.h"

namespace c10 {
struct StorageImpl;
struct TensorImpl;
}  // namespace c10

namespace opguard::capture {

enum class TensorKind : std::uint8_t {
  kPlain,    // strided memory
  kFake,     // computes shapes only: meta device, FakeTensor
  kWrapper,  // a subclass with its own dispatch, functorch, sparse, nested, freed memory
};

TensorKind KindOf(const c10::TensorImpl& tensor);

// All of these REQUIRE a plain tensor.
Hash128 GeometryHash(const c10::TensorImpl& tensor);
store::GeometryRow GeometryOf(const c10::TensorImpl& tensor);  // id 0
c10::StorageImpl* StorageOf(const c10::TensorImpl& tensor);
bool OnCpu(const c10::TensorImpl& tensor);

// The version counter, or -1 for an inference tensor, which has none.
std::int64_t VersionOf(const c10::TensorImpl& tensor);

// False if the geometry reaches outside the storage; nothing is read then.
bool Readable(const c10::TensorImpl& tensor);
// Bytes of the logical content.
std::int64_t ContentBytes(const c10::TensorImpl& tensor);
// True for kinds whose statistics say something.
bool HasStatistics(const c10::TensorImpl& tensor);
// REQUIRES: OnCpu(tensor) and Readable(tensor).
Digest DigestOf(const c10::TensorImpl& tensor, Statistics* statistics);

}  // namespace opguard::capture
