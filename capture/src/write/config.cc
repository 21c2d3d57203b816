#include "config.h"

#include <charconv>
#include <optional>

namespace opguard::capture {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string Decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
                        HexDigit(text[i + 2]) >= 0;
    if (escape) {
      plain += static_cast<char>(16 * HexDigit(text[i + 1]) + HexDigit(text[i + 2]));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

tl::unexpected<Error> Wrong(std::string_view key, const std::string& value,
                            std::vector<std::string> valid) {
  return Fail(ErrorCode::kInvalidArgument, "OPGUARD_CAPTURE has " + std::string(key) + "=" + value,
              "give one of the values", std::move(valid));
}

std::optional<std::int64_t> Number(const std::string& text, std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least) return {};
  return value;
}

Result<void> Set(Config& config, std::string_view key, const std::string& value) {
  const auto choose = [&](bool& target, const char* no, const char* yes) -> Result<void> {
    if (value != no && value != yes) return Wrong(key, value, {no, yes});
    target = value == yes;
    return {};
  };
  const auto count = [&](std::int64_t& target, std::int64_t least) -> Result<void> {
    const auto number = Number(value, least);
    if (!number) return Wrong(key, value, {std::to_string(least)});
    target = *number;
    return {};
  };
  if (key == "dir") config.directory = value;
  if (key == "mode") return choose(config.trusted, "full", "trusted");
  if (key == "level") return choose(config.inner, "outer", "inner");
  if (key == "stacks") return choose(config.stacks, "0", "1");
  if (key == "statistics") return choose(config.statistics, "0", "1");
  if (key == "stop_after_steps") return choose(config.stop_after_steps, "0", "1");
  if (key == "from_step") return count(config.from_step, 1);
  if (key == "steps") return count(config.steps, 0);
  return {};
}

}  // namespace

Result<Config> ParseConfig(std::string_view text) {
  Config config;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const auto equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    OPGUARD_TRY(Set(config, item.substr(0, equals), Decoded(item.substr(equals + 1))));
  }
  if (config.directory.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "OPGUARD_CAPTURE names no trace folder",
                "add dir=FOLDER");
  }
  return config;
}

}  // namespace opguard::capture
