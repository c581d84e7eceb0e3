"""A question completed with a user's defaults."""

from typing import Any

import pytest

from ingest.questions.defaults import with_defaults

DEFAULTS = {"hardware": "910b3", "count": 8, "framework": "vllm-ascend", "version": "0.18.0"}
PHASES = {"vllm-ascend": frozenset({"inference", "decode"}), "mindspeed": frozenset({"training"})}


def completed(**raw: Any) -> dict[str, Any]:
    return with_defaults(
        raw, DEFAULTS, "the file", same_hardware=lambda one, other: one == other.lower(), phases=PHASES
    )


def test_what_is_open_is_taken_and_said() -> None:
    made = completed(model="m", phase="serving")
    assert (made["hardware"], made["count"], made["software"]) == ("910b3", 8, {"vllm-ascend": "0.18.0"})
    assert made["notes"] == ["910b3, count 8, vllm-ascend 0.18.0 from the file"]


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ({"model": "m", "phase": "serving", "hardware": "h200"}, {"hardware": "h200", "count": None}),
        ({"model": "m", "phase": "serving", "hardware": "910B3"}, {"hardware": "910B3", "count": 8}),
        ({"model": "m", "phase": "serving", "count": 2}, {"count": 2}),
        ({"model": "m", "phase": "training"}, {"software": None}),
        ({"op": "gemm", "phase": "kernel"}, {"hardware": "910b3", "count": None, "software": None}),
        (
            {"model": "m", "phase": "serving", "software": {"cann": "8.0"}},
            {"software": {"cann": "8.0", "vllm-ascend": "0.18.0"}},
        ),
        (
            {"model": "m", "phase": "serving", "software": {"mindspeed": "1"}},
            {"software": {"mindspeed": "1"}},
        ),
    ],
)
def test_what_the_question_says_stays(raw: dict[str, Any], kept: dict[str, Any]) -> None:
    made = completed(**raw)
    assert {name: made.get(name) for name in kept} == kept


def test_a_complete_question_stays_as_it_is() -> None:
    raw = {
        "model": "m",
        "phase": "serving",
        "hardware": "h200",
        "software": {"vllm-ascend": "0.9"},
        "notes": ["n"],
    }
    assert completed(**raw) == raw
