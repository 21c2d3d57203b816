// What a server offers, independent of transport and protocol era. The protocol library knows
// nothing about OpGuard's tools; the tools know nothing about JSON-RPC.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace opguard::mcp {

using Json = nlohmann::ordered_json;

// Given to every call. Thread-safe.
class CallContext {
 public:
  virtual ~CallContext() = default;
  // True once the client cancelled this request, closed its input, or the server is stopping.
  virtual bool cancelled() const = 0;
  // Calls `action` once when cancelled() becomes true (at once if it is already).
  virtual void OnCancel(std::function<void()> action) = 0;
  // Reports progress if the client asked for it; dropped otherwise. Values that do not increase
  // and calls closer than 500 ms apart are dropped, except a changed message after 10 s.
  virtual void Progress(double progress, std::optional<double> total,
                        const std::string& message) = 0;
};

struct Content {
  std::string type;       // "text" or "image"
  std::string text;       // for text
  std::string data;       // base64, for image
  std::string mime_type;  // for image
};

struct ToolResult {
  Json structured;               // object; sent as structuredContent unless is_error
  std::vector<Content> content;  // content[0].text must be complete alone
  bool is_error = false;
};

struct Tool {
  std::string name, title, description;
  Json input_schema, output_schema;
  bool read_only = true, destructive = false, idempotent = true, open_world = false;
  Json meta;  // tool-level _meta; null for none
  // Runs on a worker thread; exceptions are caught by the protocol and become kInternal errors.
  std::function<ToolResult(const Json& arguments, CallContext& context)> call;
};

struct PromptArgument {
  std::string name, title, description;
  bool required = false;
};
struct PromptMessage {
  std::string role;  // "user" or "assistant"
  Content content;
};
struct Prompt {
  std::string name, title, description;
  std::vector<PromptArgument> arguments;
  // `error` set: answered as -32602 with that text.
  struct Answer {
    std::vector<PromptMessage> messages;
    std::string description, error;
  };
  std::function<Answer(const Json& arguments)> get;
};

struct Resource {
  std::string uri, name, title, description, mime_type;
};
struct ResourceTemplate {
  std::string uri_template, name, title, description, mime_type;
};
struct ResourceText {
  std::string uri, mime_type, text;
};

struct Service {
  std::string name, title, version, instructions;
  std::vector<Tool> tools;  // in list order
  std::vector<Prompt> prompts;
  std::function<std::vector<Resource>()> list_resources;  // null: no resources capability
  std::vector<ResourceTemplate> resource_templates;
  std::function<std::optional<ResourceText>(const std::string& uri)> read_resource;
  // Values for completion/complete; null: no completions capability.
  std::function<std::vector<std::string>(const std::string& ref_type, const std::string& ref_name,
                                         const std::string& argument, const std::string& value)>
      complete;
};

}  // namespace opguard::mcp
