#include "runner/pair_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace opguard::runner {
namespace {

using analysis::Pair;

std::vector<std::string> EnvironmentList(const SideSpec& side) {
  std::vector<std::string> list;
  for (const auto& [name, value] : side.env) list.push_back(name + "=" + value);
  return list;
}

Result<void> SaveSide(Pair& pair, const std::string& letter, const SideSpec& side) {
  OPGUARD_TRY(pair.SetAttribute(letter + ".argv", EncodeList(side.argv)));
  OPGUARD_TRY(pair.SetAttribute(letter + ".workdir", side.workdir));
  OPGUARD_TRY(pair.SetAttribute(letter + ".env", EncodeList(EnvironmentList(side))));
  return pair.SetAttribute(letter + ".ref", side.git_ref);
}

Result<SideSpec> LoadSide(const Pair& pair, const std::string& letter) {
  SideSpec side;
  OPGUARD_ASSIGN(const std::string argv, pair.Attribute(letter + ".argv"));
  side.argv = DecodeList(argv);
  OPGUARD_ASSIGN(side.workdir, pair.Attribute(letter + ".workdir"));
  OPGUARD_ASSIGN(const std::string environment, pair.Attribute(letter + ".env"));
  for (const std::string& entry : DecodeList(environment)) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) side.env[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  OPGUARD_ASSIGN(side.git_ref, pair.Attribute(letter + ".ref"));
  return side;
}

Result<std::int64_t> LoadNumber(const Pair& pair, const std::string& key) {
  OPGUARD_ASSIGN(const std::string text, pair.Attribute(key));
  return std::strtoll(text.c_str(), nullptr, 10);
}

Result<std::uint32_t> LoadCount(const Pair& pair, const std::string& key) {
  OPGUARD_ASSIGN(const std::int64_t number, LoadNumber(pair, key));
  return static_cast<std::uint32_t>(number);
}

}  // namespace

std::string PercentEncode(const std::string& text, const std::string& unsafe) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '%' || byte < 0x20 || unsafe.find(c) != std::string::npos) {
      encoded += fmt::format("%{:02X}", byte);
    } else {
      encoded += c;
    }
  }
  return encoded;
}

std::string EncodeList(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += PercentEncode(item, "") + "\n";
  return text;
}

std::vector<std::string> DecodeList(const std::string& text) {
  std::vector<std::string> items;
  std::string item;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      items.push_back(std::move(item));
      item.clear();
    } else if (text[i] == '%' && i + 2 < text.size()) {
      item += static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16));
      i += 2;
    } else {
      item += text[i];
    }
  }
  return items;
}

Result<void> SaveSpec(Pair& pair, const PairSpec& spec) {
  OPGUARD_TRY(SaveSide(pair, "a", spec.a));
  OPGUARD_TRY(SaveSide(pair, "b", spec.b));
  const std::map<std::string, std::string> values{
      {"label", spec.label},
      {"mode", spec.mode},
      {"level", spec.level},
      {"determinism", spec.determinism},
      {"repeats", std::to_string(spec.repeats)},
      {"from_step", std::to_string(spec.from_step)},
      {"steps", std::to_string(spec.steps)},
      {"stop_after_steps", spec.stop_after_steps ? "1" : "0"},
      {"isolate", spec.isolate ? "1" : "0"},
      {"link", EncodeList(spec.link)},
      {"timeout_s", std::to_string(spec.timeout.count())}};
  for (const auto& [key, value] : values) OPGUARD_TRY(pair.SetAttribute(key, value));
  return pair.SetAttribute("spec", "1");  // last: all the others are there
}

Result<PairSpec> LoadSpec(const Pair& pair) {
  OPGUARD_ASSIGN(const std::string format, pair.Attribute("spec"));
  if (format != "1") {
    return Fail(ErrorCode::kIncomplete, fmt::format("pair {} does not say what to run", pair.id()),
                "start a new pair with run_pair");
  }
  PairSpec spec;
  OPGUARD_ASSIGN(spec.a, LoadSide(pair, "a"));
  OPGUARD_ASSIGN(spec.b, LoadSide(pair, "b"));
  OPGUARD_ASSIGN(spec.label, pair.Attribute("label"));
  OPGUARD_ASSIGN(spec.mode, pair.Attribute("mode"));
  OPGUARD_ASSIGN(spec.level, pair.Attribute("level"));
  OPGUARD_ASSIGN(spec.determinism, pair.Attribute("determinism"));
  OPGUARD_ASSIGN(spec.repeats, LoadCount(pair, "repeats"));
  OPGUARD_ASSIGN(spec.from_step, LoadCount(pair, "from_step"));
  OPGUARD_ASSIGN(spec.steps, LoadCount(pair, "steps"));
  OPGUARD_ASSIGN(const std::int64_t stops, LoadNumber(pair, "stop_after_steps"));
  spec.stop_after_steps = stops != 0;
  OPGUARD_ASSIGN(const std::int64_t isolate, LoadNumber(pair, "isolate"));
  spec.isolate = isolate != 0;
  OPGUARD_ASSIGN(const std::string link, pair.Attribute("link"));
  spec.link = DecodeList(link);
  OPGUARD_ASSIGN(const std::int64_t timeout, LoadNumber(pair, "timeout_s"));
  spec.timeout = std::chrono::seconds(timeout);
  return spec;
}

Result<void> AddWarning(Pair& pair, const std::string& warning) {
  if (warning.empty()) return {};
  OPGUARD_ASSIGN(const std::string text, pair.Attribute("warnings"));
  auto warnings = DecodeList(text);
  if (std::find(warnings.begin(), warnings.end(), warning) != warnings.end()) return {};
  warnings.push_back(warning);
  return pair.SetAttribute("warnings", EncodeList(warnings));
}

}  // namespace opguard::runner
