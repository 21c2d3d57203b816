#include "protocol/listings.h"

#include <string>

namespace opguard::mcp {
namespace {

void Set(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

template <typename T>
Json Named(const T& item) {
  Json object;
  object["name"] = item.name;
  Set(object, "title", item.title);
  Set(object, "description", item.description);
  return object;
}

}  // namespace

Json ToJson(const Tool& tool) {
  Json object = Named(tool);
  object["inputSchema"] = tool.input_schema;
  if (tool.output_schema.is_object()) object["outputSchema"] = tool.output_schema;
  object["annotations"] = {{"readOnlyHint", tool.read_only},
                           {"destructiveHint", tool.destructive},
                           {"idempotentHint", tool.idempotent},
                           {"openWorldHint", tool.open_world}};
  if (tool.meta.is_object()) object["_meta"] = tool.meta;
  return object;
}

Json ToJson(const Prompt& prompt) {
  Json object = Named(prompt);
  Json arguments = Json::array();
  for (const PromptArgument& argument : prompt.arguments) {
    arguments.push_back(Named(argument));
    arguments.back()["required"] = argument.required;
  }
  if (!arguments.empty()) object["arguments"] = std::move(arguments);
  return object;
}

Json ToJson(const Resource& resource) {
  Json object;
  object["uri"] = resource.uri;
  object.update(Named(resource));
  Set(object, "mimeType", resource.mime_type);
  return object;
}

Json ToJson(const ResourceTemplate& resource_template) {
  Json object;
  object["uriTemplate"] = resource_template.uri_template;
  object.update(Named(resource_template));
  Set(object, "mimeType", resource_template.mime_type);
  return object;
}

Json ToJson(const Content& content) {
  Json object;
  object["type"] = content.type;
  if (content.type == "image") {
    object["data"] = content.data;
    object["mimeType"] = content.mime_type;
  } else {
    object["text"] = content.text;
  }
  return object;
}

}  // namespace opguard::mcp
