#include "tools/arguments.h"

#include <doctest/doctest.h>

using opguard::ErrorCode;
using opguard::tools::CheckArguments;
using opguard::tools::Json;

namespace {

const Json kSchema = Json::parse(R"({
  "type": "object", "additionalProperties": false,
  "properties": {
    "pair_id": {"type": "string", "maxLength": 8},
    "steps": {"type": "integer", "minimum": 0, "maximum": 100, "default": 20},
    "full": {"type": "boolean", "default": false},
    "mode": {"type": "string", "enum": ["full", "trusted"]},
    "command": {"type": ["string", "array"], "items": {"type": "string"}},
    "env": {"type": "object", "additionalProperties": {"type": "string"}}
  },
  "required": ["pair_id"]
})");

Json Checked(const char* text) {
  auto result = CheckArguments(Json::parse(text), kSchema);
  REQUIRE(result);
  return *result;
}

std::string Message(const char* text) {
  auto result = CheckArguments(Json::parse(text), kSchema);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kInvalidArgument);
  return result.error().message;
}

}  // namespace

TEST_CASE("CheckArguments fills in defaults") {
  CHECK(Checked(R"({"pair_id": "p1"})") ==
        Json::parse(R"({"pair_id": "p1", "steps": 20, "full": false})"));
}

TEST_CASE("CheckArguments accepts numbers and booleans written as text") {
  const Json checked = Checked(R"({"pair_id": "p1", "steps": "7", "full": "true"})");
  CHECK(checked["steps"] == 7);
  CHECK(checked["full"] == true);
  CHECK(Checked(R"({"pair_id": "p1", "steps": 7.0})")["steps"] == 7);
  CHECK(Checked(R"({"pair_id": 12})")["pair_id"] == "12");
}

TEST_CASE("CheckArguments takes null as absent") {
  CHECK(Checked(R"({"pair_id": "p1", "steps": null})")["steps"] == 20);
  CHECK(Message(R"({"pair_id": null})").find("pair_id is missing") != std::string::npos);
}

TEST_CASE("CheckArguments keeps a command as string or array") {
  CHECK(Checked(R"({"pair_id": "p", "command": "python t.py"})")["command"] == "python t.py");
  CHECK(Checked(R"({"pair_id": "p", "command": ["python", "t.py"]})")["command"].size() == 2);
}

TEST_CASE("CheckArguments turns numbers inside objects into strings") {
  CHECK(Checked(R"({"pair_id": "p", "env": {"SEED": 3}})")["env"]["SEED"] == "3");
}

TEST_CASE("CheckArguments reports every problem at once") {
  const std::string message =
      Message(R"({"pairid": "p1", "steps": 101, "mode": "fast", "full": "maybe"})");
  CHECK(message.find("unknown argument 'pairid'") != std::string::npos);
  CHECK(message.find("pair_id") != std::string::npos);
  CHECK(message.find("steps = 101 is outside 0..100") != std::string::npos);
  CHECK(message.find("mode must be one of full, trusted") != std::string::npos);
  CHECK(message.find("full must be boolean") != std::string::npos);
}

TEST_CASE("CheckArguments refuses fractions, over-long text and arguments that are no object") {
  CHECK_FALSE(CheckArguments(Json::parse(R"({"pair_id": "p", "steps": 1.5})"), kSchema));
  CHECK_FALSE(CheckArguments(Json::parse(R"({"pair_id": "123456789"})"), kSchema));
  CHECK_FALSE(CheckArguments(Json::parse(R"([1])"), kSchema));
  CHECK_FALSE(CheckArguments(Json::parse(R"({"pair_id": {"x": 1}})"), kSchema));
}
