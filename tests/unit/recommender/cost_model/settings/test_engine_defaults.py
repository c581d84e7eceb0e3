"""Tests of what engines do by default."""

import pytest

from recommender.cost_model.settings.engine_defaults import age_note, engine_defaults, largest_captured


@pytest.mark.parametrize(
    ("engine", "version", "overlapped"),
    [
        ("vllm", "0.13.0", 0),
        ("vllm", "v0.14.0rc1", 0),
        ("vllm", "0.33.0", 1),
        ("vllm", "", 1),
        ("sglang", "0.5.12-cu130", 1),
        ("tensorrt-llm", "0.17", 0),
        ("vllm-ascend", "0.23.0", 0),
        ("", "", 0),
    ],
)
def test_newer_engines_schedule_ahead(engine: str, version: str, overlapped: int) -> None:
    assert engine_defaults("serving", engine, version)["async_scheduling"] == overlapped


@pytest.mark.parametrize(
    ("engine", "version", "setting", "value"),
    [
        ("vllm", "0.5.4", "step_host_us", 9000),
        ("vllm", "0.6.3", "step_host_us", 0),
        ("vllm", "", "step_host_us", 0),
        ("sglang", "0.5.9", "prefill_graph", 0),
        ("sglang", "0.5.10.post1", "prefill_graph", 1),
        ("vllm", "", "prefill_graph", 1),
    ],
)
def test_a_release_waits_for_its_host_as_long_as_it_did(
    engine: str, version: str, setting: str, value: float
) -> None:
    assert engine_defaults("serving", engine, version)[setting] == value


def test_training_has_no_scheduler() -> None:
    assert "async_scheduling" not in engine_defaults("training", "vllm", "0.33.0")


@pytest.mark.parametrize(
    ("engine", "version", "graph", "draft"),
    [
        ("vllm-ascend", "0.8.5rc1", 0, 0),
        ("vllm-ascend", "0.9.0rc1", 0.5, 0),
        ("vllm-ascend", "0.18.0", 0.5, 0),
        ("vllm-ascend", "0.20.2rc1", 0.5, 1),
        ("vllm-ascend", "0.21.0rc1", 1, 1),
        ("vllm-ascend", "nightly", 1, 1),
        ("vllm-ascend", "", 1, 1),
        ("mindie", "2.0", 1, 0),
    ],
)
def test_a_release_captures_as_its_platform_does(
    engine: str, version: str, graph: float, draft: float
) -> None:
    found = engine_defaults("serving", engine, version)
    assert (found["graph"], found["draft_graph"]) == (graph, draft)


@pytest.mark.parametrize(
    ("sequences", "drafted", "rows"),
    [
        (1, 0, 1),
        (3, 0, 2),
        (7, 0, 4),
        (12, 0, 8),
        (10, 1, 16),
    ],
)
def test_the_largest_captured_step_is_rounded_down(sequences: int, drafted: int, rows: int) -> None:
    assert largest_captured("vllm-ascend", "0.20.2rc1", sequences, drafted) == rows
    assert largest_captured("vllm-ascend", "0.13.0", sequences, drafted) == 0
    assert largest_captured("sglang", "", sequences, drafted) == 0


@pytest.mark.parametrize(
    ("engine", "steps"),
    [
        ("vllm", "unpadded"),
        ("vllm-ascend", "lock-step"),
        ("sglang", "unpadded"),
        ("tensorrt-llm", "unpadded"),
    ],
)
def test_engines_that_share_experts_step_together(engine: str, steps: str) -> None:
    assert engine_defaults("serving", engine, "")["engines"] == steps
    assert engine_defaults("serving", "mindie", "")["engines"] == "independent"
    assert engine_defaults("serving", "vllm", "0.16.0")["engines"] == "lock-step"


@pytest.mark.parametrize(
    ("engine", "version", "is_older"),
    [
        ("vllm", "0.1.0", True),
        ("vllm", "0.5.3", False),
        ("vllm", "", False),
        ("vllm-ascend", "0.7.0", True),
        ("tgi", "0.1", False),
    ],
)
def test_a_release_older_than_the_table_is_said(engine: str, version: str, is_older: bool) -> None:
    assert ("older than the releases" in age_note(engine, version)) == is_older


@pytest.mark.parametrize(
    ("engine", "recomputed"), [("trl", "full"), ("llama-factory", "full"), ("transformers", "none")]
)
def test_trainers_recompute_as_their_configurations_do(engine: str, recomputed: str) -> None:
    """TRL switches gradient checkpointing on since 0.22; the trainer beneath it does not."""
    assert engine_defaults("training", engine, "")["recompute"] == recomputed
