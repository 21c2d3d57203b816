#include "values.h"

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>
#include <c10/core/TensorImpl.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "hash.h"

namespace opguard::capture {
namespace {

// A Python number that torch wrapped in a 0-dim tensor.
const c10::TensorImpl* WrappedNumber(const c10::IValue& value) {
  if (!value.isTensor()) return nullptr;
  const c10::TensorImpl* tensor = value.toTensor().unsafeGetTensorImpl();
  if (!tensor->is_wrapped_number() || !tensor->has_storage()) return nullptr;
  const bool plain = tensor->unsafe_storage().device_type() == c10::DeviceType::CPU &&
                     tensor->unsafe_storage().data() != nullptr;
  return plain ? tensor : nullptr;
}

std::uint64_t Bits(double value) { return std::bit_cast<std::uint64_t>(value); }

void HashNumber(Hasher& hasher, const c10::TensorImpl& tensor) {
  hasher.Add(std::uint64_t(tensor.dtype().itemsize()));
  hasher.Add(static_cast<std::uint64_t>(c10::typeMetaToScalarType(tensor.dtype())));
  hasher.Add(std::string_view(static_cast<const char*>(tensor.data()), tensor.itemsize()));
}

void AppendDouble(std::string& text, double value) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", value);
  text += digits;
  // An integral float stays distinct from an int.
  if (std::isfinite(value) &&
      text.find_first_of(".e", text.size() - std::strlen(digits)) == std::string::npos) {
    text += ".0";
  }
}

void AppendInt(std::string& text, std::int64_t value) { text += std::to_string(value); }

void AppendComplex(std::string& text, const c10::complex<double>& value) {
  text += '(';
  AppendDouble(text, value.real());
  text += ", ";
  AppendDouble(text, value.imag());
  text += "j)";
}

void AppendString(std::string& text, std::string_view value) {
  text += '"';
  for (const char c : value) {
    char escape[8];
    if (c == '"' || c == '\\') {
      text += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 32 || c == 127) {
      std::snprintf(escape, sizeof escape, "\\%03o", static_cast<unsigned>(c) & 255U);
      text += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : escape;
    } else {
      text += c;
    }
  }
  text += '"';
}

void AppendNumber(std::string& text, const c10::TensorImpl& tensor) {
  const void* data = tensor.data();
  switch (c10::typeMetaToScalarType(tensor.dtype())) {
    case c10::ScalarType::Double:
      return AppendDouble(text, *static_cast<const double*>(data));
    case c10::ScalarType::Float:
      return AppendDouble(text, static_cast<double>(*static_cast<const float*>(data)));
    case c10::ScalarType::Long:
      return AppendInt(text, *static_cast<const std::int64_t*>(data));
    case c10::ScalarType::Bool:
      text += *static_cast<const bool*>(data) ? "True" : "False";
      return;
    case c10::ScalarType::ComplexDouble:
      return AppendComplex(text, *static_cast<const c10::complex<double>*>(data));
    default:
      text += "<number>";
  }
}

void AppendEnum(std::string& text, std::int64_t value, ValueKind kind) {
  text += "torch.";
  switch (kind) {
    case ValueKind::kDtype:
      text += DtypeName(static_cast<int>(value));
      return;
    case ValueKind::kLayout:
      text += std::string_view(value == 0 ? "strided" : value == 1 ? "sparse_coo" : "layout_");
      if (value > 1) AppendInt(text, value);
      return;
    default:
      text += std::string_view(value == 0   ? "contiguous_format"
                               : value == 1 ? "preserve_format"
                               : value == 2 ? "channels_last"
                                            : "channels_last_3d");
  }
}

template <typename Items>
void AppendItems(std::string& text, const Items& items, const char* open, const char* close) {
  text += open;
  bool first = true;
  for (const c10::IValue& item : items) {
    if (!first) text += ", ";
    first = false;
    AppendValue(text, item, ValueKind::kPlain);
  }
  text += close;
}

void AppendOther(std::string& text, const c10::IValue& value) {
  if (value.isDevice()) {
    text += value.toDevice().str();
  } else if (value.isGenerator()) {
    text += value.toGenerator().device().str();
  } else if (value.isGenericDict()) {
    text += '{';
    for (const auto& item : value.toGenericDict()) {
      if (text.back() != '{') text += ", ";
      AppendValue(text, item.key(), ValueKind::kPlain);
      text += ": ";
      AppendValue(text, item.value(), ValueKind::kPlain);
    }
    text += '}';
  } else {
    text += '<' + value.tagKind() + '>';
  }
}

}  // namespace

const char* DtypeName(int scalar_type) {
  switch (static_cast<c10::ScalarType>(scalar_type)) {
    case c10::ScalarType::Byte:
      return "uint8";
    case c10::ScalarType::Char:
      return "int8";
    case c10::ScalarType::Short:
      return "int16";
    case c10::ScalarType::Int:
      return "int32";
    case c10::ScalarType::Long:
      return "int64";
    case c10::ScalarType::Half:
      return "float16";
    case c10::ScalarType::Float:
      return "float32";
    case c10::ScalarType::Double:
      return "float64";
    case c10::ScalarType::ComplexHalf:
      return "complex32";
    case c10::ScalarType::ComplexFloat:
      return "complex64";
    case c10::ScalarType::ComplexDouble:
      return "complex128";
    case c10::ScalarType::Bool:
      return "bool";
    case c10::ScalarType::BFloat16:
      return "bfloat16";
    case c10::ScalarType::UInt16:
      return "uint16";
    case c10::ScalarType::UInt32:
      return "uint32";
    case c10::ScalarType::UInt64:
      return "uint64";
    case c10::ScalarType::Float8_e5m2:
      return "float8_e5m2";
    case c10::ScalarType::Float8_e4m3fn:
      return "float8_e4m3fn";
    case c10::ScalarType::Float8_e5m2fnuz:
      return "float8_e5m2fnuz";
    case c10::ScalarType::Float8_e4m3fnuz:
      return "float8_e4m3fnuz";
    default:
      return c10::toString(static_cast<c10::ScalarType>(scalar_type));
  }
}

bool HoldsTensors(const c10::IValue& value) {
  if (value.isTensor()) return WrappedNumber(value) == nullptr && value.toTensor().defined();
  if (!value.isList()) return false;
  for (const c10::IValue& item : value.toListRef()) {
    if (item.isTensor()) return true;
  }
  return false;
}

void HashValue(Hasher& hasher, const c10::IValue& value) {
  enum : std::uint64_t { kNone = 1, kBool, kInt, kDouble, kText, kList, kTensor, kDevice, kOther };
  if (value.isNone()) return hasher.Add(std::uint64_t{kNone});
  if (value.isTensor()) {
    const c10::TensorImpl* number = WrappedNumber(value);
    hasher.Add(std::uint64_t{value.toTensor().defined() ? kTensor : kNone});
    if (number != nullptr) HashNumber(hasher, *number);
  } else if (value.isInt()) {
    hasher.Add(std::uint64_t{kInt});
    hasher.Add(value.toInt());
  } else if (value.isDouble()) {
    hasher.Add(std::uint64_t{kDouble});
    hasher.Add(Bits(value.toDouble()));
  } else if (value.isBool()) {
    hasher.Add(std::uint64_t{kBool + 16U * value.toBool()});
  } else if (value.isString()) {
    hasher.Add(std::uint64_t{kText});
    hasher.Add(std::string_view(value.toStringRef()));
  } else if (value.isList()) {
    const auto items = value.toListRef();
    hasher.Add(std::uint64_t{kList});
    hasher.Add(std::uint64_t{items.size()});
    for (const c10::IValue& item : items) HashValue(hasher, item);
  } else if (value.isDevice()) {
    const c10::Device device = value.toDevice();
    hasher.Add(std::uint64_t{kDevice});
    hasher.Add(static_cast<std::int64_t>(device.type()));
    hasher.Add(static_cast<std::int64_t>(device.index()));
  } else {
    std::string text;
    AppendValue(text, value, ValueKind::kPlain);
    hasher.Add(std::uint64_t{kOther});
    hasher.Add(std::string_view(text));
  }
}

void AppendValue(std::string& text, const c10::IValue& value, ValueKind kind) {
  if (value.isNone()) {
    text += "None";
  } else if (value.isTensor()) {
    const c10::TensorImpl* number = WrappedNumber(value);
    if (number != nullptr) return AppendNumber(text, *number);
    text += value.toTensor().defined() ? "Tensor" : "None";
  } else if (value.isInt()) {
    if (kind != ValueKind::kPlain) return AppendEnum(text, value.toInt(), kind);
    AppendInt(text, value.toInt());
  } else if (value.isDouble()) {
    AppendDouble(text, value.toDouble());
  } else if (value.isBool()) {
    text += value.toBool() ? "True" : "False";
  } else if (value.isComplexDouble()) {
    AppendComplex(text, value.toComplexDouble());
  } else if (value.isString()) {
    AppendString(text, value.toStringRef());
  } else if (value.isList()) {
    AppendItems(text, value.toListRef(), "[", "]");
  } else if (value.isTuple()) {
    AppendItems(text, value.toTupleRef().elements(), "(", ")");
  } else {
    AppendOther(text, value);
  }
}

}  // namespace opguard::capture
