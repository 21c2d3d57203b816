// The two eras of MCP and how a request tells which one it belongs to. It is decided for each
// request anew: one connection may use both.
//
//   legacy   up to 2025-11-25: `initialize` first, then requests
//   modern   from 2026-07-28: no handshake, every request carries its version in `_meta`
#pragma once

#include <array>
#include <string_view>
#include <tl/expected.hpp>

#include "protocol/rpc.h"

namespace opguard::mcp {

enum class Era { kLegacy, kModern };

inline constexpr std::array<std::string_view, 1> kModernVersions = {"2026-07-28"};
inline constexpr std::array<std::string_view, 4> kLegacyVersions = {"2025-11-25", "2025-06-18",
                                                                    "2025-03-26", "2024-11-05"};
inline constexpr std::string_view kLatestLegacyVersion = kLegacyVersions[0];
// The only revision with JSON-RPC batches.
inline constexpr std::string_view kBatchVersion = "2025-03-26";
// Older ones require an id in every error, so what cannot be addressed cannot be said.
inline constexpr std::string_view kFirstVersionWithErrorsWithoutId = "2025-11-25";

namespace meta_key {
inline constexpr char kProtocolVersion[] = "io.modelcontextprotocol/protocolVersion";
inline constexpr char kClientCapabilities[] = "io.modelcontextprotocol/clientCapabilities";
inline constexpr char kLogLevel[] = "io.modelcontextprotocol/logLevel";
inline constexpr char kServerInfo[] = "io.modelcontextprotocol/serverInfo";
inline constexpr char kSubscriptionId[] = "io.modelcontextprotocol/subscriptionId";
}  // namespace meta_key

struct Envelope {
  Era era = Era::kLegacy;
  Json progress_token;  // null for none
};

// `params` as they came (null if absent); `is_initialized`: a legacy handshake took place.
// Errors: -32602 for params or _meta that are wrong or lack what is needed, -32022 for a version
// this server does not speak.
[[nodiscard]] tl::expected<Envelope, RpcError> RouteRequest(std::string_view method,
                                                            const Json& params,
                                                            bool is_initialized);

// The version that `initialize` is answered with: the one asked for, or the latest legacy one.
std::string_view NegotiateLegacyVersion(const Json& params);

// What modern clients may keep a result for.
enum class Caching {
  kNone,     // the result has no caching fields
  kStatic,   // the same as long as the server runs
  kDynamic,  // may differ the next time
};

// Adds what a modern result carries; a legacy result stays as it is.
void DecorateResult(Json& result, Era era, Caching caching, const Json& server_info);

}  // namespace opguard::mcp
