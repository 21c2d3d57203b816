"""Each bundled pair through the server, against the right answer of its report."""
import json
import os

import pytest
from agent import ROOT, session

EXAMPLES = os.path.join(ROOT, "examples")
NAMES = sorted(name for name in os.listdir(EXAMPLES)
               if os.path.exists(os.path.join(EXAMPLES, name, "expected.json")))


def expectation(name):
    folder = os.path.join(EXAMPLES, name)
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    expected["request"]["workdir"] = folder
    return expected


def test_there_are_three():
    assert len(NAMES) >= 3


@pytest.mark.parametrize("name", NAMES)
def test_the_located_op_is_the_right_one(name, tmp_path):
    expected = expectation(name)

    async def investigate(agent):
        pair = await agent.run_pair(**expected["request"])
        answer = await agent.call("first_diff", pair_id=pair["pair_id"])
        followed = [(step, await agent.follow(step)) for step in answer["next"]]
        return answer, followed

    answer, followed = session(investigate, tmp_path)
    op = answer["op"]
    assert answer["status"] == "diverged"
    assert answer["verdict"] in expected["verdicts"]
    assert op["name"] in expected["ops"] and op["name"] not in expected["must_not"]
    assert op["phase"] in expected["phases"] and op["step"] == expected["step"]
    assert answer["inputs_equal"] is expected["inputs_equal"]
    assert expected.get("hypothesis", "") in answer.get("hypothesis", "")
    check_place(answer, expected)
    check_shape(answer)
    check_evidence(answer, followed, expected)


def check_place(answer, expected):
    place = answer["op"]["at_" + expected["side"]]
    assert place["path"] == os.path.join(expected["request"]["workdir"], expected["file"])
    with open(place["path"], encoding="utf-8") as file:
        assert expected["line_text"] in file.read().splitlines()[place["line"] - 1]


def check_shape(answer):
    """All that every answer has."""
    assert {"id", "name", "phase", "step", "rank", "lane"} <= set(answer["op"])
    assert "seq_a" in answer["op"] or "seq_b" in answer["op"]
    for difference in answer["differing"]:
        assert {"tensor_id", "slot", "what"} <= set(difference)
    assert {"ops", "matmuls", "collectives"} <= set(answer["equal_before"])
    assert isinstance(answer["arg_differences"], list) and isinstance(answer["warnings"], list)
    assert answer["last_equal_op"]["id"] != answer["op"]["id"]
    coverage = answer["coverage"]
    assert coverage["aligned"] + coverage["unaligned_a"] == coverage["ops_a"]
    assert coverage["aligned"] + coverage["unaligned_b"] == coverage["ops_b"]
    assert coverage["compared"] > 0 and coverage["skipped"] == {}


def check_evidence(answer, followed, expected):
    """The proposed calls give the stack, the source line and the tensors of that op."""
    by_tool = {step["tool"]: result for step, result in followed}
    assert set(by_tool) == {"call_stack", "source_at", "tensor_compare"}
    frames = by_tool["call_stack"]["frames"]
    assert any(frame["path"].endswith(expected["file"]) for frame in frames)
    assert expected["line_text"] in json.dumps(by_tool["source_at"])
    assert answer["op"]["id"] in json.dumps(by_tool["tensor_compare"])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_side_against_itself_is_identical(mode, tmp_path):
    request = expectation("rotary_cast")["request"]
    request.update(args_a=["--engine"], args_b=["--engine"])

    async def investigate(agent):
        pair = await agent.run_pair(**request)
        return await agent.call("first_diff", pair_id=pair["pair_id"])

    answer = session(investigate, tmp_path, mode)
    assert answer["status"] == "identical"
    coverage = answer["coverage"]
    assert coverage["unaligned_a"] == coverage["unaligned_b"] == 0
    assert coverage["aligned"] == coverage["ops_a"] == coverage["ops_b"] > 1000
    assert coverage["compared"] > 2000 and coverage["unreadable"] == 0
