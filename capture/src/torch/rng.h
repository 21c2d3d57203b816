// The state of the random number generator that an op draws from.
#pragma once

#include <cstdint>
#include <string>

namespace c10 {
struct GeneratorImpl;
}

namespace opguard::capture {

struct GeneratorState {
  std::uint64_t seed = 0, digest = 0;
};

c10::GeneratorImpl* DefaultCpuGenerator();
// Only CPU generators can be read yet.
bool CanRead(const c10::GeneratorImpl& generator);
std::string GeneratorName(const c10::GeneratorImpl& generator);
// REQUIRES: CanRead(generator). Draws nothing.
GeneratorState StateOf(c10::GeneratorImpl& generator);

}  // namespace opguard::capture
