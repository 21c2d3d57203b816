#include "protocol/server.h"

#include <utility>

#include "protocol/listings.h"

namespace opguard::mcp {
namespace {

Json ServerInfo(const Service& service) {
  Json info;
  info["name"] = service.name;
  if (!service.title.empty()) info["title"] = service.title;
  info["version"] = service.version;
  return info;
}

// Only what is served, and no listChanged: the lists do not change.
Json Capabilities(const Service& service) {
  Json capabilities = Json::object();
  if (!service.tools.empty()) capabilities["tools"] = Json::object();
  if (!service.prompts.empty()) capabilities["prompts"] = Json::object();
  if (service.list_resources) capabilities["resources"] = Json::object();
  if (service.complete) capabilities["completions"] = Json::object();
  return capabilities;
}

template <typename T>
const T* Find(const std::vector<T>& items, std::string_view name) {
  for (const T& item : items) {
    if (item.name == name) return &item;
  }
  return nullptr;
}

}  // namespace

Server::Server(Service service)
    : service_(std::move(service)),
      server_info_(ServerInfo(service_)),
      capabilities_(Capabilities(service_)),
      tools_(ToJson(service_.tools)),
      prompts_(ToJson(service_.prompts)) {}

const Tool* Server::FindTool(std::string_view name) const { return Find(service_.tools, name); }
const Prompt* Server::FindPrompt(std::string_view name) const {
  return Find(service_.prompts, name);
}

}  // namespace opguard::mcp
