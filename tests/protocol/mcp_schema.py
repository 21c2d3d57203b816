"""Validates what a server sends against the official schema of the revision that it speaks."""

import functools
import json
import pathlib

import jsonschema

MODERN = "2026-07-28"
LATEST_LEGACY = "2025-11-25"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", LATEST_LEGACY)
FOLDER = pathlib.Path(__file__).parent

RESULTS = {
    "completion/complete": "CompleteResult",
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "prompts/get": "GetPromptResult",
    "prompts/list": "ListPromptsResult",
    "resources/list": "ListResourcesResult",
    "resources/read": "ReadResourceResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tools/call": "CallToolResult",
    "tools/list": "ListToolsResult",
}
NOTIFICATIONS = {
    "notifications/progress": "ProgressNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
}
# The names of the envelopes changed on the way.
RESPONSE = ("JSONRPCResultResponse", "JSONRPCResponse")
ERROR = ("JSONRPCErrorResponse", "JSONRPCError")
BATCH = ("JSONRPCBatchResponse",)
ERRORS_OF_CODES = {-32022: "UnsupportedProtocolVersionError"}
CACHEABLE = {"prompts/list", "resources/list", "resources/read", "resources/templates/list",
             "server/discover", "tools/list"}
MODERN_FIELDS = {"resultType", "ttlMs", "cacheScope"}


@functools.cache
def _schema(version):
    return json.loads((FOLDER / "schemas" / f"{version}.json").read_text())


@functools.cache
def _validator(version, names):
    schema = _schema(version)
    section = "$defs" if "$defs" in schema else "definitions"
    name = next((name for name in names if name in schema[section]), None)
    if name is None:
        return None
    cls = jsonschema.validators.validator_for(schema)
    return cls({**schema, "$ref": f"#/{section}/{name}"})


def check(version, value, *names):
    """`value` must be what the revision defines under the first of the names that it has."""
    validator = _validator(version, names)
    assert validator is not None, f"{version} defines none of {names}"
    error = jsonschema.exceptions.best_match(validator.iter_errors(value))
    assert error is None, f"{version} {names}: {error.message} in {json.dumps(value)[:2000]}"


def check_notification(version, message):
    check(version, message, "JSONRPCNotification")
    check(version, message, NOTIFICATIONS[message["method"]])


def check_response(version, method, message):
    check(version, message, "JSONRPCMessage")
    if "error" in message:
        check(version, message, *ERROR)
        name = ERRORS_OF_CODES.get(message["error"]["code"])
        if name and version == MODERN:
            check(version, message, name)
        return
    result = message["result"]
    check(version, message, *RESPONSE)
    check(version, result, RESULTS[method])
    meta = result.get("_meta", {})
    if version == MODERN:
        assert result["resultType"] == "complete"
        assert ("ttlMs" in result) == (method in CACHEABLE) == ("cacheScope" in result)
        assert meta["io.modelcontextprotocol/serverInfo"]["name"]
    else:
        assert not MODERN_FIELDS & result.keys()
        assert "io.modelcontextprotocol/serverInfo" not in meta
