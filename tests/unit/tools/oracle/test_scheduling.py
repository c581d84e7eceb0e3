"""The table of the oracle of scheduling, and a few of its rows made again."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.unit.tools.oracle.loads import load_of
from tools.oracle.engine_fleet import FIGURES
from tools.oracle.load_draws import draw_loads
from tools.oracle.scheduling import (
    EACH,
    SEED,
    TABLE,
    OracleError,
    read_table,
    serve_loads,
    write_table,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_the_committed_table_is_of_the_loads_that_its_command_draws() -> None:
    rows = read_table(TABLE)
    assert [load for load, _ in rows] == draw_loads(SEED, EACH)
    first = TABLE.read_text(encoding="utf-8").splitlines()[0]
    assert "of vllm " in first
    assert f"--seed {SEED} --each {EACH}" in first
    for load, figures in rows:
        assert figures["ttft_p50_s"] <= figures["ttft_p90_s"] <= figures["ttft_p99_s"]
        # no first token before the shortest prompt has run, no later one before an empty step
        assert figures["ttft_p50_s"] >= load.step_s
        assert figures["tpot_p50_s"] * (1 + load.drafts) >= load.step_s * (1 - 1e-9)
        assert figures["decode_batch"] <= load.max_num_seqs
        assert load.kind == "preempting" or not figures["preemptions"]
        assert load.kind == "lockstep" or not figures["dummy_steps"]


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    figures = dict.fromkeys(FIGURES, 0.125)
    write_table(tmp_path / "one.csv", "1.2", [(load_of(), figures)], "a command")
    assert read_table(tmp_path / "one.csv") == [(load_of(), figures)]


def test_an_interpreter_without_the_engine_is_named() -> None:
    with pytest.raises(OracleError, match="cannot run vllm"):
        list(serve_loads(sys.executable, [load_of()]))


@pytest.mark.long
def test_rows_are_the_same_when_the_engine_is_run_again() -> None:
    python = os.environ.get("TUNEGRAPH_VLLM_PYTHON")
    if not python:
        pytest.skip("no interpreter with vllm: set TUNEGRAPH_VLLM_PYTHON")
    rows = read_table(TABLE)[::49]
    for (_, known), figures in zip(rows, serve_loads(python, [load for load, _ in rows]), strict=True):
        assert figures == pytest.approx(known, rel=1e-5)
