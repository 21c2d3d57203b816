// Numbers and digests as answers show them.
#pragma once

#include <cstdint>
#include <string>

namespace opguard::render {

std::string Grouped(std::uint64_t number);  // 8,214
std::string Plural(std::uint64_t count,
                   const std::string& noun);  // "1 op", "3 ops", "2 matrix products"
std::string Hex(std::uint64_t digest);        // 16 hexadecimal digits
std::string Double(double value);             // shortest exact, "nan", "inf"

}  // namespace opguard::render
