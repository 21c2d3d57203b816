#include "protocol/era.h"

#include <algorithm>
#include <string>

#include "protocol/json_line.h"

namespace opguard::mcp {
namespace {

constexpr int kStaticTtlMs = 60000;
constexpr std::array<std::string_view, 8> kLogLevels = {"debug", "info",     "notice", "warning",
                                                        "error", "critical", "alert",  "emergency"};

tl::unexpected<RpcError> InvalidParams(std::string message, Json data = nullptr) {
  return tl::unexpected(
      RpcError{rpc_code::kInvalidParams, "Invalid params: " + std::move(message), std::move(data)});
}

template <std::size_t N>
bool Contains(const std::array<std::string_view, N>& names, const Json& value) {
  return value.is_string() &&
         std::find(names.begin(), names.end(), value.get_ref<const std::string&>()) != names.end();
}

tl::unexpected<RpcError> UnsupportedVersion(const Json& requested) {
  return tl::unexpected(
      RpcError{rpc_code::kUnsupportedProtocolVersion,
               "Unsupported protocol version: " + Excerpt(requested.get_ref<const std::string&>()),
               {{"supported", kModernVersions}, {"requested", requested}}});
}

tl::expected<Envelope, RpcError> RouteModern(const Json& meta, Envelope envelope) {
  const Json& version = meta[meta_key::kProtocolVersion];
  if (!version.is_string()) {
    return InvalidParams(std::string("_meta[\"") + meta_key::kProtocolVersion +
                         "\"] must be a string");
  }
  const auto capabilities = meta.find(meta_key::kClientCapabilities);
  if (capabilities == meta.end() || !capabilities->is_object()) {
    return InvalidParams(std::string("_meta[\"") + meta_key::kClientCapabilities +
                         "\"] must be an object");
  }
  if (!Contains(kModernVersions, version)) return UnsupportedVersion(version);
  const auto level = meta.find(meta_key::kLogLevel);
  if (level != meta.end() && !Contains(kLogLevels, *level)) {
    return InvalidParams(std::string("_meta[\"") + meta_key::kLogLevel + "\"] is no logging level");
  }
  envelope.era = Era::kModern;
  return envelope;
}

}  // namespace

tl::expected<Envelope, RpcError> RouteRequest(std::string_view method, const Json& params,
                                              bool is_initialized) {
  if (!params.is_null() && !params.is_object()) return InvalidParams("params must be an object");
  Json meta = Json::object();
  if (params.contains("_meta")) meta = params["_meta"];
  if (!meta.is_object()) return InvalidParams("_meta must be an object");
  Envelope envelope;
  if (const auto token = meta.find("progressToken"); token != meta.end()) {
    if (!IsValidId(*token)) return InvalidParams("progressToken must be a string or an integer");
    envelope.progress_token = *token;
  }
  if (meta.contains(meta_key::kProtocolVersion)) return RouteModern(meta, std::move(envelope));
  if (is_initialized || method == "initialize" || method == "ping") return envelope;
  return InvalidParams(
      std::string("the request belongs to no protocol revision. Send it with _meta "
                  "keys ") +
      meta_key::kProtocolVersion + " and " + meta_key::kClientCapabilities +
      ", or send initialize first");
}

std::string_view NegotiateLegacyVersion(const Json& params) {
  if (!params.contains("protocolVersion")) return kLatestLegacyVersion;
  const Json& asked = params["protocolVersion"];
  for (const std::string_view version : kLegacyVersions) {
    if (asked == version) return version;
  }
  return kLatestLegacyVersion;
}

void DecorateResult(Json& result, Era era, Caching caching, const Json& server_info) {
  if (era == Era::kLegacy) return;
  result["resultType"] = "complete";
  if (caching != Caching::kNone) {
    result["ttlMs"] = caching == Caching::kStatic ? kStaticTtlMs : 0;
    result["cacheScope"] = "private";
  }
  result["_meta"][meta_key::kServerInfo] = server_info;
}

}  // namespace opguard::mcp
