#include "tensors.h"

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include "values.h"

namespace opguard::capture {
namespace {

using c10::DispatchKey;
using c10::ScalarType;

const c10::DispatchKeySet& WrapperKeys() {
  static const c10::DispatchKeySet keys{
      DispatchKey::Python,        DispatchKey::FuncTorchBatched,  DispatchKey::FuncTorchGradWrapper,
      DispatchKey::Functionalize, DispatchKey::PythonTLSSnapshot, DispatchKey::BatchedNestedTensor,
      DispatchKey::Batched};
  return keys;
}

ElementKind ElementKindOf(ScalarType type) {
  switch (type) {
    case ScalarType::Bool:
      return ElementKind::kBool;
    case ScalarType::Byte:
      return ElementKind::kUInt8;
    case ScalarType::Char:
      return ElementKind::kInt8;
    case ScalarType::Short:
      return ElementKind::kInt16;
    case ScalarType::UInt16:
      return ElementKind::kUInt16;
    case ScalarType::Int:
      return ElementKind::kInt32;
    case ScalarType::UInt32:
      return ElementKind::kUInt32;
    case ScalarType::Long:
      return ElementKind::kInt64;
    case ScalarType::UInt64:
      return ElementKind::kUInt64;
    case ScalarType::Half:
      return ElementKind::kFloat16;
    case ScalarType::BFloat16:
      return ElementKind::kBFloat16;
    case ScalarType::Float:
      return ElementKind::kFloat32;
    case ScalarType::Double:
      return ElementKind::kFloat64;
    case ScalarType::ComplexHalf:
      return ElementKind::kComplex32;
    case ScalarType::ComplexFloat:
      return ElementKind::kComplex64;
    case ScalarType::ComplexDouble:
      return ElementKind::kComplex128;
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e5m2fnuz:
    case ScalarType::Float8_e4m3fnuz:
    case ScalarType::Float8_e8m0fnu:
      return ElementKind::kFloat8;
    default:
      return ElementKind::kOpaque;
  }
}

ScalarType TypeOf(const c10::TensorImpl& tensor) {
  return c10::typeMetaToScalarType(tensor.dtype());
}

std::string ListText(c10::IntArrayRef values) {
  std::string text = "[";
  for (const std::int64_t value : values) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(value);
  }
  return text + "]";
}

}  // namespace

TensorKind KindOf(const c10::TensorImpl& tensor) try {
  const bool storage = tensor.has_storage();
  const bool meta = storage ? tensor.unsafe_storage().device_type() == c10::DeviceType::Meta
                            : tensor.key_set().has_backend(c10::BackendComponent::MetaBit);
  if (meta) return TensorKind::kFake;
  const bool own_shape = tensor.is_nested() || tensor.has_symbolic_sizes_strides();
  if (!storage || own_shape || tensor.key_set().has_any(WrapperKeys())) return TensorKind::kWrapper;
  if (tensor.numel() > 0 && tensor.unsafe_storage().unsafeGetStorageImpl()->data() == nullptr) {
    return TensorKind::kWrapper;
  }
  return TensorKind::kPlain;
} catch (const std::exception&) {  // an implementation that refuses to tell its shape
  return TensorKind::kWrapper;
}

Hash128 GeometryHash(const c10::TensorImpl& tensor) {
  Hasher hasher;
  const c10::Device device = tensor.unsafe_storage().device();
  hasher.Add(static_cast<std::uint64_t>(TypeOf(tensor)) |
             static_cast<std::uint64_t>(tensor.dim()) << 8U |
             std::uint64_t{tensor.is_conj()} << 40U | std::uint64_t{tensor.is_neg()} << 41U |
             static_cast<std::uint64_t>(device.type()) << 48U);
  hasher.Add(static_cast<std::int64_t>(device.index()));
  hasher.Add(tensor.storage_offset());
  for (const std::int64_t size : tensor.sizes()) hasher.Add(size);
  for (const std::int64_t stride : tensor.strides()) hasher.Add(stride);
  return hasher.Finish();
}

store::GeometryRow GeometryOf(const c10::TensorImpl& tensor) {
  std::string layout = "strided";
  if (tensor.is_conj()) layout += " conj";
  if (tensor.is_neg()) layout += " neg";
  return {0,
          DtypeName(static_cast<int>(TypeOf(tensor))),
          tensor.unsafe_storage().device().str(),
          ListText(tensor.sizes()),
          ListText(tensor.strides()),
          tensor.storage_offset(),
          std::move(layout)};
}

c10::StorageImpl* StorageOf(const c10::TensorImpl& tensor) {
  return tensor.unsafe_storage().unsafeGetStorageImpl();
}

bool OnCpu(const c10::TensorImpl& tensor) {
  return tensor.unsafe_storage().device_type() == c10::DeviceType::CPU;
}

std::int64_t VersionOf(const c10::TensorImpl& tensor) {
  const c10::VariableVersion& version = tensor.version_counter();
  return version.enabled() ? static_cast<std::int64_t>(version.current_version()) : -1;
}

bool Readable(const c10::TensorImpl& tensor) {
  std::int64_t first = tensor.storage_offset(), last = first;
  if (tensor.numel() == 0) return true;
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    (strides[i] < 0 ? first : last) += (sizes[i] - 1) * strides[i];
  }
  const auto item = static_cast<std::int64_t>(tensor.itemsize());
  return item > 0 && item <= 16 && first >= 0 &&
         static_cast<std::size_t>((last + 1) * item) <= StorageOf(tensor)->nbytes();
}

std::int64_t ContentBytes(const c10::TensorImpl& tensor) {
  return tensor.numel() * static_cast<std::int64_t>(tensor.itemsize());
}

bool HasStatistics(const c10::TensorImpl& tensor) {
  const ElementKind kind = ElementKindOf(TypeOf(tensor));
  return kind != ElementKind::kOpaque && kind != ElementKind::kFloat8;
}

Digest DigestOf(const c10::TensorImpl& tensor, Statistics* statistics) {
  const auto* base = static_cast<const char*>(std::as_const(*StorageOf(tensor)).data());
  const auto item = static_cast<std::int64_t>(tensor.itemsize());
  const MemoryView view{base == nullptr ? nullptr : base + tensor.storage_offset() * item,
                        static_cast<std::uint32_t>(item),
                        ElementKindOf(TypeOf(tensor)),
                        {tensor.sizes().data(), tensor.sizes().size()},
                        {tensor.strides().data(), tensor.strides().size()}};
  return Fingerprint(view, statistics);
}

}  // namespace opguard::capture
