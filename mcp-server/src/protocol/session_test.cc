#include "protocol/session.h"

#include "protocol/session_test_support.h"

namespace opguard::mcp {
namespace {

using testing::Client;
using testing::kModernMeta;

TEST_CASE("Session answers a modern request without any handshake") {
  Client client;
  const Json result = client.Modern("server/discover")["result"];
  CHECK(result["supportedVersions"] == Json::array({"2026-07-28"}));
  CHECK(result["resultType"] == "complete");
  CHECK(result["cacheScope"] == "private");
  CHECK(result["ttlMs"].is_number_integer());
  CHECK(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "small");
  CHECK(result["instructions"] == "be brief");
  CHECK_FALSE(result.contains("serverInfo"));
  CHECK(result["capabilities"] == Json::parse(R"({"tools":{},"prompts":{},"resources":{},
                                                  "completions":{}})"));
}

TEST_CASE("Session serves both eras on one connection, in any order") {
  Client client;
  CHECK(client.Modern("tools/list")["result"]["resultType"] == "complete");
  client.Initialize();
  const Json legacy = client.Legacy("tools/list")["result"];
  CHECK(legacy.size() == 1);
  CHECK(client.Modern("tools/list")["result"]["tools"] == legacy["tools"]);
  CHECK(client.Legacy("ping")["result"] == Json::object());
  CHECK(client.Modern("server/discover").contains("result"));
}

TEST_CASE("Session refuses methods that the era does not have") {
  Client client;
  for (const char* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                             "resources/unsubscribe", "nosuch"}) {
    CAPTURE(method);
    CHECK(client.Modern(method)["error"]["code"] == -32601);
  }
  client.Initialize();
  for (const char* method :
       {"server/discover", "subscriptions/listen", "logging/setLevel", "nosuch"}) {
    CAPTURE(method);
    CHECK(client.Legacy(method)["error"]["code"] == -32601);
  }
}

TEST_CASE("Session answers only ping before a handshake without a version") {
  Client client;
  CHECK(client.Legacy("ping")["result"] == Json::object());
  for (const char* method : {"tools/list", "server/discover", "nosuch"}) {
    CAPTURE(method);
    CHECK(client.Legacy(method)["error"]["code"] == -32602);
  }
}

TEST_CASE("Session with an assumed version needs no handshake") {
  Client client(testing::SmallService(), "2025-03-26");
  CHECK(client.Legacy("tools/list").contains("result"));
}

TEST_CASE("Session negotiates a legacy version and never refuses one") {
  for (const char* version : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}) {
    Client().Initialize(version);
  }
  for (const char* params : {R"("protocolVersion":"1999-01-01")", R"("protocolVersion":5)", "",
                             R"("protocolVersion":"2026-07-28")"}) {
    CAPTURE(params);
    const Json result = Client().Legacy("initialize", params)["result"];
    CHECK(result["protocolVersion"] == "2025-11-25");
    CHECK(result["serverInfo"]["version"] == "1");
    CHECK_FALSE(result.contains("resultType"));
  }
}

TEST_CASE("Session echoes ids with their type and refuses those that are none") {
  Client client;
  const auto ping = [&](const std::string& id) {
    return client.Ask(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"ping"})");
  };
  for (const char* id : {"0", "1", "-7", "\"1\"", "\"\"", "9007199254740993",
                         "18446744073709551615", "\"\\u00e9\""}) {
    CAPTURE(id);
    CHECK(ping(id)["id"].dump() == Json::parse(id).dump());
    CHECK(ping(id)["id"].type() == Json::parse(id).type());
  }
  for (const char* id :
       {"null", "1.5", "1.0", "true", "[]", "{}", "1e400", "18446744073709551616"}) {
    CAPTURE(id);
    const Json answer = ping(id);
    CHECK(answer.contains("error"));
    CHECK_FALSE(answer.contains("id"));
  }
}

TEST_CASE("Session never answers notifications, responses and blank lines") {
  Client client;
  for (const char* line :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
        R"({"jsonrpc":"2.0","method":"nosuch","params":[1]})", R"({"method":"tools/list"})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled"})",
        R"({"jsonrpc":"2.0","id":1,"result":{}})", R"({"jsonrpc":"2.0","error":{}})", "", " \r"}) {
    CAPTURE(line);
    client.Send(line);
    CHECK(client.Take().empty());
  }
}

TEST_CASE("Session answers malformed messages with their id where there is one") {
  Client client;
  CHECK(client.ErrorCode("{") == -32700);
  CHECK(client.ErrorCode("\xff\xfe") == -32700);
  CHECK(client.ErrorCode(std::string("\0\1\2", 3)) == -32700);
  CHECK(client.ErrorCode("5") == -32600);
  CHECK(client.ErrorCode(R"({"jsonrpc":"2.0"})") == -32600);
  CHECK(client.ErrorCode(R"({"jsonrpc":"2.0","id":4,"method":5})") == -32600);
  CHECK(client.ErrorCode(R"({"jsonrpc":"1.0","id":4,"method":"ping"})") == -32600);
  const Json twice =
      client.Ask(R"({"jsonrpc":"2.0","id":4,"method":"ping","params":{"a":1,"a":2}})");
  CHECK(twice["error"]["code"] == -32600);
  CHECK(twice["id"] == 4);
  const Json two_ids = client.Ask(R"({"jsonrpc":"2.0","id":4,"id":5,"method":"ping"})");
  CHECK(two_ids["error"]["code"] == -32600);
  CHECK_FALSE(two_ids.contains("id"));
  client.session().ReceiveOversize();
  const Json oversize = client.Take().at(0);
  CHECK(oversize["error"]["code"] == -32600);
  CHECK_FALSE(oversize.contains("id"));
}

TEST_CASE("Session says nothing without an id to revisions that cannot express it") {
  Client client;
  client.Initialize("2025-06-18");
  client.Send("{");
  client.session().ReceiveOversize();
  CHECK(client.Take().empty());
  client.Initialize("2025-11-25");
  CHECK(client.ErrorCode("{") == -32700);
}

TEST_CASE("Session checks the parameters of requests") {
  Client client;
  const auto code = [&](const std::string& method, const std::string& params) {
    const Json answer = client.Modern(method, params);
    return answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
  };
  CHECK(code("tools/call", R"("name":"nosuch")") == -32602);
  CHECK(code("tools/call", "") == -32602);
  CHECK(code("tools/call", R"("name":"echo","arguments":[])") == -32602);
  CHECK(code("tools/list", R"("cursor":"zzz")") == -32602);
  CHECK(code("tools/list", R"("cursor":null)") == -32602);
  CHECK(code("tools/list", R"("cursor":"")") == 0);
  CHECK(code("prompts/get", R"("name":"nosuch")") == -32602);
  CHECK(code("prompts/get", R"("name":"greet")") == -32602);
  CHECK(code("prompts/get", R"("name":"greet","arguments":{"who":5})") == -32602);
  CHECK(code("prompts/get", R"("name":"greet","arguments":{"who":"nobody"})") == -32602);
  CHECK(code("prompts/get", R"("name":"greet","arguments":{"who":"me"})") == 0);
  CHECK(code("resources/read", R"("uri":"small://broken")") == -32603);
  CHECK(code("resources/read", "") == -32602);
  CHECK(code("completion/complete", R"("ref":{"type":"ref/tool","name":"x"})") == -32602);
}

TEST_CASE("Session decorates what may be cached, and nothing else") {
  Client client;
  for (const char* method : {"tools/list", "prompts/list", "resources/list",
                             "resources/templates/list", "server/discover"}) {
    CAPTURE(method);
    CHECK(client.Modern(method)["result"].contains("ttlMs"));
  }
  CHECK(client.Modern("resources/read", R"("uri":"small://a")")["result"]["ttlMs"] == 0);
  const Json call = client.Modern("tools/call", R"("name":"echo")")["result"];
  CHECK_FALSE(call.contains("ttlMs"));
  CHECK_FALSE(call.contains("cacheScope"));
  CHECK(call["resultType"] == "complete");
}

TEST_CASE("Session names the resource that is not there") {
  const Json error = Client().Modern("resources/read", R"("uri":"small://none")")["error"];
  CHECK(error["code"] == -32602);
  CHECK(error["data"]["uri"] == "small://none");
}

TEST_CASE("Session gives at most a hundred completions and says how many there are") {
  const Json completion = Client().Modern(
      "completion/complete",
      R"("ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":""})")
                              ["result"]["completion"];
  CHECK(completion["values"].size() == 100);
  CHECK(completion["total"] == 150);
  CHECK(completion["hasMore"] == true);
}

TEST_CASE("Session turns a tool's failures into results that agents see") {
  Client client;
  const Json thrown = client.Modern("tools/call", R"("name":"throw")")["result"];
  CHECK(thrown["isError"] == true);
  CHECK(thrown["content"][0]["text"].get<std::string>().starts_with("internal: "));
  CHECK_FALSE(thrown.contains("structuredContent"));
  const Json hollow = client.Modern("tools/call", R"("name":"hollow")")["result"];
  CHECK(hollow["isError"] == true);
  const Json echo = client.Modern("tools/call", R"("name":"echo","arguments":{"a":1})")["result"];
  CHECK(echo["structuredContent"]["a"] == 1);
  CHECK_FALSE(echo.contains("isError"));
}

TEST_CASE("Session has no capability that the service lacks") {
  Service service = testing::SmallService();
  service.prompts.clear();
  service.list_resources = nullptr;
  service.complete = nullptr;
  Client client(service);
  CHECK(client.Modern("server/discover")["result"]["capabilities"] ==
        Json::parse(R"({"tools":{}})"));
  for (const char* method : {"prompts/list", "prompts/get", "resources/list", "resources/read",
                             "resources/templates/list", "completion/complete"}) {
    CAPTURE(method);
    CHECK(client.Modern(method)["error"]["code"] == -32601);
  }
}

TEST_CASE("Session replaces bytes of a tool that are no UTF-8") {
  Service service = testing::SmallService();
  service.tools.push_back(testing::MakeTool(
      "bytes", [](const Json&, CallContext&) { return testing::TextResult("a\xff"); }));
  const Json result = Client(service).Modern("tools/call", R"("name":"bytes")")["result"];
  CHECK(result["content"][0]["text"] == "a\xef\xbf\xbd");
}

TEST_CASE("Session acknowledges a subscription and ends it when it closes") {
  Client client;
  const std::string listen = std::string(R"({"jsonrpc":"2.0","id":"l","method":)") +
                             R"("subscriptions/listen","params":{)" + kModernMeta +
                             R"(,"notifications":{"toolsListChanged":true}}})";
  const Json acknowledged = client.Ask(listen);
  CHECK(acknowledged["method"] == "notifications/subscriptions/acknowledged");
  CHECK(acknowledged["params"]["notifications"] == Json::object());
  CHECK(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "l");
  CHECK(client.ErrorCode(listen) == -32600);  // the id is in use
  CHECK(client.session().WaitIdle(std::chrono::milliseconds(0)));
  client.session().Close();
  const Json end = client.Take().at(0);
  CHECK(end["id"] == "l");
  CHECK(end["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "l");
  CHECK(end["result"]["resultType"] == "complete");
  CHECK_FALSE(end["result"].contains("ttlMs"));
}

TEST_CASE("Session sends nothing for what the client cancelled") {
  Client client;
  const std::string call = std::string(R"({"jsonrpc":"2.0","id":7,"method":"tools/call",)") +
                           R"("params":{"name":"echo",)" + kModernMeta + "}}";
  const std::string cancel = R"({"jsonrpc":"2.0","method":"notifications/cancelled",)"
                             R"("params":{"requestId":7}})";
  client.Send(call);
  CHECK_FALSE(client.session().WaitIdle(std::chrono::milliseconds(0)));
  client.Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}})");
  CHECK(client.Take().size() == 1);  // "7" is not 7
  client.Send(call);
  client.Send(cancel);
  client.Send(call);  // the id is free again
  CHECK(client.waiting_tasks() == 2);
  CHECK(client.Take().size() == 1);
  CHECK(client.session().WaitIdle(std::chrono::milliseconds(0)));
}

TEST_CASE("Session refuses more calls than it can have in flight, and takes them later") {
  Client client;
  const auto call = [&](std::size_t id) {
    client.Send(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
                R"(,"method":"tools/call","params":{"name":"echo",)" + kModernMeta + "}}");
  };
  for (std::size_t id = 0; id < kMaxInFlight; ++id) call(id);
  CHECK(client.waiting_tasks() == kMaxInFlight);
  // A cancelled call still takes a worker until it ends.
  client.Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}})");
  call(1000);
  CHECK(client.waiting_tasks() == kMaxInFlight);
  client.Send(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
  const std::vector<Json> sent = client.Take();
  REQUIRE(sent.size() == kMaxInFlight + 1);
  CHECK(sent[0]["id"] == 1000);
  CHECK(sent[0]["error"]["code"] == -32603);
  CHECK(sent[1]["id"] == "p");
  call(1000);
  CHECK(client.Take().at(0).contains("result"));
}

TEST_CASE("Session bounds the subscriptions that are open") {
  Client client;
  const auto listen = [&](std::size_t id) {
    return client.Ask(R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
                      R"(,"method":"subscriptions/listen","params":{"notifications":{},)" +
                      kModernMeta + "}}");
  };
  for (std::size_t id = 0; id < kMaxInFlight; ++id) CHECK(listen(id).contains("method"));
  CHECK(listen(1000)["error"]["code"] == -32603);
  client.Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  CHECK(listen(1000).contains("method"));
}

TEST_CASE("Session answers calls that had not begun when it closes") {
  Client client;
  client.Send(std::string(R"({"jsonrpc":"2.0","id":7,"method":"tools/call",)") +
              R"("params":{"name":"echo",)" + kModernMeta + "}}");
  client.session().Close();
  CHECK(client.Take().at(0)["error"]["code"] == -32603);
}

}  // namespace
}  // namespace opguard::mcp
