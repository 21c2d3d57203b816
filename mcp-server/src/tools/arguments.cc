#include "tools/arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tools/nearest.h"

namespace opguard::tools {
namespace {

std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

std::optional<std::int64_t> AsInteger(const Json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::nearbyint(number) == number && std::abs(number) < 9e15) {
      return static_cast<std::int64_t>(number);
    }
  }
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return number;
  }
  return std::nullopt;
}

std::optional<Json> Scalar(const Json& value, const std::string& type) {
  if (type == "string") {
    if (value.is_string()) return value;
    if (value.is_number() || value.is_boolean()) return Json(value.dump());
  } else if (type == "integer") {
    if (const auto number = AsInteger(value)) return Json(*number);
  } else if (type == "boolean") {
    if (value.is_boolean()) return value;
    if (value == "true") return Json(true);
    if (value == "false") return Json(false);
  }
  return std::nullopt;
}

std::optional<Json> Coerce(const Json& value, const Json& property, const std::string& type) {
  if (type == "array") {
    if (!value.is_array()) return std::nullopt;
    Json items = Json::array();
    for (const Json& item : value) {
      const auto text = Scalar(item, property.at("items").at("type").get<std::string>());
      if (!text) return std::nullopt;
      items.push_back(*text);
    }
    return items;
  }
  if (type == "object") {
    if (!value.is_object()) return std::nullopt;
    Json object = Json::object();
    for (const auto& [key, item] : value.items()) {
      const auto text =
          Scalar(item, property.at("additionalProperties").at("type").get<std::string>());
      if (!text) return std::nullopt;
      object[key] = *text;
    }
    return object;
  }
  return Scalar(value, type);
}

std::vector<std::string> Types(const Json& property) {
  const Json& type = property.at("type");
  if (type.is_string()) return {type.get<std::string>()};
  return type.get<std::vector<std::string>>();
}

// The coerced value, or what is wrong with it appended to `problems`.
std::optional<Json> CheckValue(const std::string& name, const Json& value, const Json& property,
                               std::vector<std::string>& problems) {
  const std::vector<std::string> types = Types(property);
  std::optional<Json> coerced;
  // An exact type goes before one that needs a conversion (an array is not a string).
  for (const std::string& type : types) {
    if (!coerced && !(type == "string" && value.is_array()))
      coerced = Coerce(value, property, type);
  }
  if (!coerced) {
    problems.push_back(
        fmt::format("{} must be {}, not {}", name, fmt::join(types, " or "), Shown(value)));
    return std::nullopt;
  }
  if (property.contains("enum")) {
    std::vector<std::string> allowed;
    for (const Json& item : property["enum"]) allowed.push_back(item.get<std::string>());
    if (std::find(allowed.begin(), allowed.end(), coerced->get<std::string>()) == allowed.end()) {
      problems.push_back(fmt::format("{} must be one of {}, not {}", name, fmt::join(allowed, ", "),
                                     Shown(value)));
      return std::nullopt;
    }
  }
  if (coerced->is_number_integer()) {
    const std::int64_t number = coerced->get<std::int64_t>();
    if ((property.contains("minimum") && number < property["minimum"].get<std::int64_t>()) ||
        (property.contains("maximum") && number > property["maximum"].get<std::int64_t>())) {
      problems.push_back(
          fmt::format("{} = {} is outside {}..{}", name, number,
                      property.contains("minimum") ? property["minimum"].dump() : "",
                      property.contains("maximum") ? property["maximum"].dump() : ""));
      return std::nullopt;
    }
  }
  if (coerced->is_string() && property.contains("maxLength") &&
      coerced->get_ref<const std::string&>().size() > property["maxLength"].get<std::size_t>()) {
    problems.push_back(fmt::format("{} is longer than {} characters", name,
                                   property["maxLength"].get<std::size_t>()));
    return std::nullopt;
  }
  return coerced;
}

}  // namespace

Result<Json> CheckArguments(const Json& arguments, const Json& schema) {
  const Json& properties = schema.at("properties");
  std::vector<std::string> names;
  for (const auto& [name, unused] : properties.items()) names.push_back(name);

  std::vector<std::string> problems;
  Json checked = Json::object();
  const Json given = arguments.is_null() ? Json::object() : arguments;
  if (!given.is_object()) {
    return Fail(ErrorCode::kInvalidArgument, "the arguments are not an object.",
                "give an object of named arguments", names);
  }
  for (const auto& [name, value] : given.items()) {
    if (!properties.contains(name)) {
      problems.push_back(fmt::format("unknown argument '{}' (nearest: {})", name.substr(0, 60),
                                     fmt::join(Nearest(name, names, 2), ", ")));
    } else if (!value.is_null()) {
      if (auto coerced = CheckValue(name, value, properties[name], problems)) {
        checked[name] = std::move(*coerced);
      }
    }
  }
  if (schema.contains("required")) {
    for (const Json& name : schema["required"]) {
      if (!given.contains(name.get<std::string>()) || given[name.get<std::string>()].is_null()) {
        problems.push_back(fmt::format("{} is missing", name.get<std::string>()));
      }
    }
  }
  if (!problems.empty()) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{}.", fmt::join(problems, "; ")),
                fmt::format("the arguments are: {}", fmt::join(names, ", ")));
  }
  for (const auto& [name, property] : properties.items()) {
    if (!checked.contains(name) && property.contains("default"))
      checked[name] = property["default"];
  }
  return checked;
}

}  // namespace opguard::tools
