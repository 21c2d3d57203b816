// SHA-256 (FIPS 180-4) of a byte string; used for source snapshots only.
#pragma once

#include <string>
#include <string_view>

namespace opguard::capture {

// 64 lower-case hexadecimal digits.
std::string Sha256(std::string_view bytes);

}  // namespace opguard::capture
