// How tools, prompts, resources and contents are written on the wire. Fields that are empty are
// left out.
#pragma once

#include <vector>

#include "protocol/service.h"

namespace opguard::mcp {

Json ToJson(const Tool& tool);
Json ToJson(const Prompt& prompt);
Json ToJson(const Resource& resource);
Json ToJson(const ResourceTemplate& resource_template);
Json ToJson(const Content& content);

template <typename T>
Json ToJson(const std::vector<T>& items) {
  Json array = Json::array();
  for (const T& item : items) array.push_back(ToJson(item));
  return array;
}

}  // namespace opguard::mcp
