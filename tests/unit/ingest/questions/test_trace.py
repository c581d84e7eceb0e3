"""A trace of requests as the load of a question."""

import json
from pathlib import Path

import pytest

from ingest.questions.trace import read_trace
from kg.errors import CaseFormatError, InputError
from kg.nouns.situation import FactOrigin


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_a_trace_gives_lengths_rate_and_shared_prefixes(tmp_path: Path) -> None:
    rows = [
        {"timestamp": 1000 * at, "input_length": 1000 + at, "output_length": 10, "hash_ids": [0, at + 1]}
        for at in range(5)
    ]
    facts = read_trace(written(tmp_path / "requests.jsonl", *rows))
    assert facts.origin is FactOrigin.MEASURED
    assert facts.question == {
        "shape": {"input_len": 1002, "output_len": 10, "seq_len": 1014},
        "traits": {"request_rate": 1.0, "shared_prefix_share": 0.4},
    }


def test_requests_in_flight_follow_from_their_latencies(tmp_path: Path) -> None:
    rows = [{"arrival_s": at, "input_len": 5, "output_len": 5, "latency_s": 3.0} for at in range(11)]
    assert read_trace(written(tmp_path / "t.jsonl", *rows)).question["traits"] == {
        "request_rate": 1.0,
        "concurrency": 3,
    }


def test_lengths_alone_are_enough(tmp_path: Path) -> None:
    facts = read_trace(written(tmp_path / "t.jsonl", {"prompt_tokens": 7, "completion_tokens": 1}))
    assert facts.question == {"shape": {"input_len": 7, "output_len": 1, "seq_len": 8}, "traits": {}}


def test_every_fault_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", {"input_length": 5}, [], {"input_length": -1, "output_length": 2})
    with pytest.raises(CaseFormatError) as refused:
        read_trace(path)
    faults = [fault.place for fault in refused.value.faults]
    assert faults == ["line 1", "line 2", "line 3"]


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_a_trace_without_requests_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="no request"):
        read_trace(path)
    with pytest.raises(InputError, match="No such file"):
        read_trace(tmp_path / "none.jsonl")
