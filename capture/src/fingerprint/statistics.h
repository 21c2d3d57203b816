// Which kinds of elements have statistics, and how their order is expressed in integers.
#pragma once

#include <cstdint>

#include "kernels.h"

namespace opguard::capture {

bool HasStatistics(ElementKind kind);
// Adds the elements of complex kinds, one by one: counts only.
bool IsComplex(ElementKind kind);
void MeasureComplex(const std::byte* data, std::size_t count, ElementKind kind,
                    RawStatistics& statistics);
Statistics Interpret(const RawStatistics& raw, ElementKind kind);

}  // namespace opguard::capture
