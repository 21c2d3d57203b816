#include "protocol/methods.h"

#include <array>
#include <exception>
#include <string>

#include "protocol/json_line.h"
#include "protocol/listings.h"
#include "protocol/method_params.h"
#include "protocol/tool_call.h"

namespace opguard::mcp {
namespace {

constexpr std::size_t kMaxCompletions = 100;  // the protocol's

Outcome Ping(const Server& /*server*/, const Json& /*params*/, CallContext& /*context*/) {
  return Json::object();
}

Outcome Discover(const Server& server, const Json& /*params*/, CallContext& /*context*/) {
  Json result;
  result["supportedVersions"] = kModernVersions;
  result["capabilities"] = server.capabilities();
  if (!server.service().instructions.empty()) {
    result["instructions"] = server.service().instructions;
  }
  return result;
}

// All of a list in one page.
Outcome Page(const char* key, const Json& items, const Json& params) {
  if (auto error = CheckCursor(params)) return tl::unexpected(std::move(*error));
  Json result;
  result[key] = items;
  return result;
}

Outcome ListTools(const Server& server, const Json& params, CallContext& /*context*/) {
  if (server.service().tools.empty()) return NotOffered("tools");
  return Page("tools", server.tools(), params);
}

Outcome ListPrompts(const Server& server, const Json& params, CallContext& /*context*/) {
  if (server.service().prompts.empty()) return NotOffered("prompts");
  return Page("prompts", server.prompts(), params);
}

Outcome CheckPromptArguments(const Prompt& prompt, const Json& params) {
  auto arguments = ObjectParam(params, "arguments");
  if (!arguments) return arguments;
  for (const auto& [name, value] : arguments->items()) {
    if (!value.is_string()) {
      return InvalidParams("argument " + Excerpt(name) + " of the prompt must be a string");
    }
  }
  for (const PromptArgument& argument : prompt.arguments) {
    if (argument.required && !arguments->contains(argument.name)) {
      return InvalidParams("prompt " + prompt.name + " needs the argument " + argument.name);
    }
  }
  return arguments;
}

Outcome GetPrompt(const Server& server, const Json& params, CallContext& /*context*/) {
  if (server.service().prompts.empty()) return NotOffered("prompts");
  const auto name = StringParam(params, "name");
  if (!name) return tl::unexpected(name.error());
  const Prompt* prompt = server.FindPrompt(*name);
  if (!prompt) {
    return InvalidParams("unknown prompt " + Excerpt(*name) +
                         ". Valid: " + NamesOf(server.service().prompts));
  }
  const auto arguments = CheckPromptArguments(*prompt, params);
  if (!arguments) return arguments;
  const Prompt::Answer answer = prompt->get(*arguments);
  if (!answer.error.empty()) {
    return tl::unexpected(RpcError{rpc_code::kInvalidParams, answer.error, nullptr});
  }
  Json result;
  if (!answer.description.empty()) result["description"] = answer.description;
  result["messages"] = Json::array();
  for (const PromptMessage& message : answer.messages) {
    result["messages"].push_back({{"role", message.role}, {"content", ToJson(message.content)}});
  }
  return result;
}

Outcome ListResources(const Server& server, const Json& params, CallContext& /*context*/) {
  if (!server.has_resources()) return NotOffered("resources");
  return Page("resources", ToJson(server.service().list_resources()), params);
}

Outcome ListTemplates(const Server& server, const Json& params, CallContext& /*context*/) {
  if (!server.has_resources()) return NotOffered("resources");
  return Page("resourceTemplates", ToJson(server.service().resource_templates), params);
}

Outcome ReadResource(const Server& server, const Json& params, CallContext& /*context*/) {
  if (!server.has_resources()) return NotOffered("resources");
  const auto uri = StringParam(params, "uri");
  if (!uri) return tl::unexpected(uri.error());
  const auto& read = server.service().read_resource;
  const std::optional<ResourceText> text = read ? read(*uri) : std::nullopt;
  if (!text) {
    Json data;
    data["uri"] = *uri;
    return tl::unexpected(RpcError{rpc_code::kInvalidParams, "Resource not found: " + Excerpt(*uri),
                                   std::move(data)});
  }
  Json contents;
  contents["uri"] = text->uri;
  if (!text->mime_type.empty()) contents["mimeType"] = text->mime_type;
  contents["text"] = text->text;
  Json result;
  result["contents"] = Json::array({std::move(contents)});
  return result;
}

Outcome Completions(std::vector<std::string> values) {
  const std::size_t total = values.size();
  if (total > kMaxCompletions) values.resize(kMaxCompletions);
  Json result;
  result["completion"] = {
      {"values", values}, {"total", total}, {"hasMore", total > kMaxCompletions}};
  return result;
}

Outcome Complete(const Server& server, const Json& params, CallContext& /*context*/) {
  if (!server.service().complete) return NotOffered("completions");
  const auto ref = ObjectParam(params, "ref");
  if (!ref) return ref;
  const auto argument = ObjectParam(params, "argument");
  if (!argument) return argument;
  const auto type = StringParam(*ref, "type");
  if (!type) return tl::unexpected(type.error());
  if (*type != "ref/prompt" && *type != "ref/resource") {
    return InvalidParams("ref.type must be ref/prompt or ref/resource");
  }
  const auto target = StringParam(*ref, *type == "ref/prompt" ? "name" : "uri");
  if (!target) return tl::unexpected(target.error());
  if (*type == "ref/prompt" && !server.FindPrompt(*target)) {
    return InvalidParams("unknown prompt " + Excerpt(*target) +
                         ". Valid: " + NamesOf(server.service().prompts));
  }
  const auto name = StringParam(*argument, "name");
  if (!name) return tl::unexpected(name.error());
  const auto value = StringParam(*argument, "value");
  if (!value) return tl::unexpected(value.error());
  return Completions(server.service().complete(*type, *target, *name, *value));
}

constexpr std::array<Method, 10> kMethods = {{
    {"ping", true, false, false, Caching::kNone, Ping},
    {"server/discover", false, true, false, Caching::kStatic, Discover},
    {"tools/list", true, true, false, Caching::kStatic, ListTools},
    {"tools/call", true, true, true, Caching::kNone, CallTool},
    {"prompts/list", true, true, false, Caching::kStatic, ListPrompts},
    {"prompts/get", true, true, true, Caching::kNone, GetPrompt},
    {"resources/list", true, true, true, Caching::kDynamic, ListResources},
    {"resources/templates/list", true, true, false, Caching::kStatic, ListTemplates},
    {"resources/read", true, true, true, Caching::kDynamic, ReadResource},
    {"completion/complete", true, true, true, Caching::kNone, Complete},
}};

}  // namespace

const Method* FindMethod(std::string_view name, Era era) {
  for (const Method& method : kMethods) {
    if (method.name != name) continue;
    return (era == Era::kModern ? method.modern : method.legacy) ? &method : nullptr;
  }
  return nullptr;
}

Outcome RunMethod(const Method& method, const Server& server, const Json& params,
                  CallContext& context) {
  try {
    return method.handle(server, params, context);
  } catch (const std::exception& exception) {
    return tl::unexpected(RpcError{rpc_code::kInternalError,
                                   std::string("Internal error: ") + exception.what(), nullptr});
  } catch (...) {
    return tl::unexpected(
        RpcError{rpc_code::kInternalError, "Internal error: an unknown exception", nullptr});
  }
}

}  // namespace opguard::mcp
