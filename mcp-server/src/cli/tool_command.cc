#include "cli/tool_command.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tools/catalogue.h"
#include "tools/command_line.h"

namespace opguard::cli {
namespace {

using mcp::Json;

std::string Kebab(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

bool HasType(const Json& property, const std::string& type) {
  const Json& types = property.at("type");
  return types.is_string() ? types == type
                           : std::find(types.begin(), types.end(), type) != types.end();
}

std::string FirstSentence(const std::string& description) {
  return description.substr(0, description.find(". ")) + ".";
}

}  // namespace

ToolCommands::ToolCommands(CLI::App& app, std::vector<std::string> command, Run run,
                           int& exit_status)
    : command_(std::move(command)), run_(std::move(run)), exit_status_(exit_status) {
  for (const Json& definition : tools::ToolDefinitions()) AddTool(app, definition);
}

void ToolCommands::AddTool(CLI::App& app, const Json& definition) {
  static const std::set<std::string> positional{"pair_id", "tensor_id", "op_id", "frame_id"};
  const std::string tool = definition.at("name").get<std::string>();
  CLI::App* sub = app.add_subcommand(
      Kebab(tool), FirstSentence(definition.at("description").get<std::string>()));
  Values& values = values_[tool];
  for (const auto& [name, property] : definition.at("inputSchema").at("properties").items()) {
    const std::string help = property.value("description", "");
    const std::string option = "--" + Kebab(name);
    if (HasType(property, "boolean")) {
      sub->add_flag(option, values.flags[name], help);
    } else if (positional.count(name) && tool != "run_pair") {
      sub->add_option(name + "," + option, values.options[name], help)
          ->expected(1)
          ->allow_extra_args(false);
    } else {
      sub->add_option(option, values.options[name], help)
          ->expected(1)
          ->allow_extra_args(false)
          ->take_all();
    }
  }
  sub->add_flag("--json", values.json, "print the tool's own JSON result");
  sub->callback([this, &definition, tool] {
    const Values& given = values_.at(tool);
    exit_status_ = run_(tool, Arguments(definition, given), given.json);
  });
}

Json ToolCommands::Arguments(const Json& definition, const Values& values) const {
  Json arguments = Json::object();
  const Json& properties = definition.at("inputSchema").at("properties");
  for (const auto& [name, texts] : values.options) {
    if (texts.empty()) continue;
    const Json& property = properties.at(name);
    if (HasType(property, "object")) {
      for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        arguments[name][text.substr(0, equals)] =
            equals == std::string::npos ? "" : text.substr(equals + 1);
      }
    } else if (HasType(property, "array") && !HasType(property, "string")) {
      for (const std::string& text : texts) {
        auto words = tools::SplitCommand(text);
        for (const std::string& word : words ? *words : std::vector<std::string>{text}) {
          arguments[name].push_back(word);
        }
      }
    } else {
      arguments[name] = texts.back();
    }
  }
  for (const auto& [name, set] : values.flags) {
    if (set) arguments[name] = true;
  }
  if (!command_.empty()) arguments["command"] = command_;
  return arguments;
}

}  // namespace opguard::cli
