#include "render/numbers.h"

#include <fmt/format.h>

namespace opguard::render {

std::string Grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string Plural(std::uint64_t count, const std::string& noun) {
  return Grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string Hex(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

std::string Double(double value) { return fmt::format("{}", value); }

}  // namespace opguard::render
