#include "rng.h"

#include <ATen/CPUGeneratorImpl.h>

#include <array>
#include <bit>
#include <cstring>
#include <mutex>

#include "opguard/capture/fingerprint.h"

namespace opguard::capture {

c10::GeneratorImpl* DefaultCpuGenerator() {
  return at::detail::getDefaultCPUGenerator().unsafeGetGeneratorImpl();
}

bool CanRead(const c10::GeneratorImpl& generator) {
  return generator.device().type() == c10::DeviceType::CPU;
}

std::string GeneratorName(const c10::GeneratorImpl& generator) { return generator.device().str(); }

GeneratorState StateOf(c10::GeneratorImpl& generator) {
  auto& cpu = static_cast<at::CPUGeneratorImpl&>(generator);
  // Never waits: a kernel may hold the mutex while it calls another operator.
  const std::unique_lock<std::mutex> lock(cpu.mutex_, std::try_to_lock);
  const at::mt19937_data_pod data = cpu.engine().data();
  const auto next_float = cpu.next_float_normal_sample();
  const auto next_double = cpu.next_double_normal_sample();
  struct {
    std::uint64_t left, next, have_float, have_double;
    double next_float, next_double;
    decltype(data.state_) state;
  } packed{static_cast<std::uint64_t>(data.left_),
           data.next_,
           next_float.has_value(),
           next_double.has_value(),
           static_cast<double>(next_float.value_or(0)),
           next_double.value_or(0),
           data.state_};
  static_assert(sizeof packed == 6 * 8 + sizeof data.state_, "no padding is digested");
  return {cpu.current_seed(), FingerprintBytes(&packed, sizeof packed).fingerprint};
}

}  // namespace opguard::capture
