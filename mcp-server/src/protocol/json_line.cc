#include "protocol/json_line.h"

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

namespace opguard::mcp {
namespace {

using Members = Json::object_t::Container;

// Builds the value itself, since the library's own builder looks every key up in an ordered object
// (quadratic) and keeps duplicates silent.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::size_t max_depth, ParsedLine& line) : max_depth_(max_depth), line_(line) {}

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*elements*/) override { return Open(Json::object()); }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t /*elements*/) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }

  bool key(string_t& value) override {
    if (too_deep_ > 0) return true;
    Frame& frame = stack_.back();
    if (!frame.keys.insert(value).second) {
      Report(JsonProblem::kDuplicateKey, "the key \"" + Excerpt(value) + "\" stands there twice");
      if (stack_.size() == 1 && value == "id") is_id_ambiguous_ = true;
    }
    frame.key = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    line_.problem = JsonProblem::kSyntax;
    line_.detail = "not a JSON text in UTF-8: unexpected input at byte " + std::to_string(position);
    return false;
  }

  void Finish() {
    if (!is_id_ambiguous_) return;
    while (line_.value.erase("id") > 0) {  // it erases one at a time
    }
    line_.value["id"] = nullptr;  // still a request, though nobody can tell which
  }

 private:
  struct Frame {
    Json* container;
    std::string key;  // of the member whose value comes next
    std::unordered_set<std::string> keys;
  };

  void Report(JsonProblem problem, std::string detail) {
    if (line_.problem != JsonProblem::kNone) return;
    line_.problem = problem;
    line_.detail = std::move(detail);
  }

  Json* Insert(Json value) {
    if (stack_.empty()) {
      line_.value = std::move(value);
      return &line_.value;
    }
    Frame& frame = stack_.back();
    if (frame.container->is_array()) {
      frame.container->push_back(std::move(value));
      return &frame.container->back();
    }
    Members& members = frame.container->get_ref<Json::object_t&>();
    return &members.emplace_back(std::move(frame.key), std::move(value)).second;
  }

  bool Add(Json value) {
    if (too_deep_ == 0) Insert(std::move(value));
    return true;
  }

  bool Open(Json container) {
    if (too_deep_ > 0 || stack_.size() >= max_depth_) {
      Report(JsonProblem::kTooDeep, "nested deeper than " + std::to_string(max_depth_) + " levels");
      ++too_deep_;
      return true;
    }
    stack_.push_back({Insert(std::move(container)), {}, {}});
    return true;
  }

  bool Close() {
    if (too_deep_ > 0) {
      --too_deep_;
    } else {
      stack_.pop_back();
    }
    return true;
  }

  const std::size_t max_depth_;
  ParsedLine& line_;
  std::vector<Frame> stack_;
  std::size_t too_deep_ = 0;  // open containers that are left out
  bool is_id_ambiguous_ = false;
};

}  // namespace

ParsedLine ParseJsonLine(std::string_view line, std::size_t max_depth) {
  ParsedLine parsed;
  Builder builder(max_depth, parsed);
  if (Json::sax_parse(line.begin(), line.end(), &builder)) {
    builder.Finish();
  } else {
    parsed.value = nullptr;
  }
  return parsed;
}

std::string DumpJsonLine(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string Excerpt(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace opguard::mcp
