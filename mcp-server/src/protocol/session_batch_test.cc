#include "protocol/session_test_support.h"

namespace opguard::mcp {
namespace {

using testing::Client;

constexpr char kPing[] = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
constexpr char kCall[] =
    R"({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}})";

TEST_CASE("Session answers a batch of 2025-03-26 with one array when all is done") {
  Client client;
  client.Initialize("2025-03-26");
  client.Send(std::string("[") + kCall + "," + kPing +
              R"(,{"jsonrpc":"2.0","method":"notifications/initialized"}])");
  CHECK(client.waiting_tasks() == 1);
  const std::vector<Json> sent = client.Take();
  REQUIRE(sent.size() == 1);
  REQUIRE(sent[0].is_array());
  REQUIRE(sent[0].size() == 2);
  CHECK(sent[0][0]["id"] == 1);
  CHECK(sent[0][1]["id"] == 2);
}

TEST_CASE("Session leaves a cancelled call out of the batch's answers") {
  Client client;
  client.Initialize("2025-03-26");
  client.Send(std::string("[") + kCall + "," + kPing + "]");
  client.Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})");
  const std::vector<Json> sent = client.Take();
  REQUIRE(sent.size() == 1);
  REQUIRE(sent[0].size() == 1);
  CHECK(sent[0][0]["id"] == 1);
}

TEST_CASE("Session answers nothing to a batch of notifications") {
  Client client;
  client.Initialize("2025-03-26");
  client.Send(R"([{"jsonrpc":"2.0","method":"notifications/initialized"}])");
  CHECK(client.Take().empty());
}

TEST_CASE("Session refuses what may not be in a batch") {
  Client client;
  client.Initialize("2025-03-26");
  const Json answers = client.Ask(
      R"([{"jsonrpc":"2.0","id":1,"method":"initialize"},{"jsonrpc":"2.0","id":2,"method":5}])");
  REQUIRE(answers.size() == 2);
  CHECK(answers[0]["error"]["code"] == -32600);
  CHECK(answers[1]["error"]["code"] == -32600);
}

TEST_CASE("Session refuses a batch that is too long, each request under its id") {
  Client client;
  client.Initialize("2025-03-26");
  std::string batch = "[";
  for (std::size_t i = 0; i <= kMaxBatch; ++i) batch.append(i > 0 ? "," : "").append(kPing);
  client.Send(batch + "]");
  const std::vector<Json> sent = client.Take();
  REQUIRE(sent.size() == kMaxBatch + 1);
  CHECK(sent.back()["id"] == 1);
  CHECK(sent.back()["error"]["code"] == -32600);
}

TEST_CASE("Session refuses batches of all other revisions, each request under its id") {
  for (const char* version : {"2025-11-25", "2025-06-18", "2024-11-05"}) {
    CAPTURE(version);
    Client client;
    client.Initialize(version);
    const Json answer = client.Ask(std::string("[") + kPing + "]");
    CHECK(answer["error"]["code"] == -32600);
    CHECK(answer["id"] == 1);
  }
  Client fresh;
  CHECK(fresh.ErrorCode("[]") == -32600);
}

}  // namespace
}  // namespace opguard::mcp
