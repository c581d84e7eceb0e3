"""The table of the oracle of scheduling, and a few of its rows made again."""

import os
import sys
from pathlib import Path

import pytest

from tests.unit.tools.oracle.loads import load_of
from tools.oracle.engine_fleet import FIGURES
from tools.oracle.scheduling import (
    EACH,
    SEED,
    TABLES,
    OracleError,
    loads_of,
    read_table,
    serve_loads,
    write_table,
)


@pytest.mark.parametrize("engine", sorted(path.stem for path in TABLES.glob("*.csv")))
def test_a_committed_table_is_of_the_loads_that_its_command_draws(engine: str) -> None:
    table, each = TABLES / f"{engine}.csv", EACH[engine]
    rows = read_table(table)
    assert [load for load, _ in rows] == loads_of(engine, SEED, each)
    first = table.read_text(encoding="utf-8").splitlines()[0]
    assert f"of {engine} " in first
    assert f"--engine {engine} --seed {SEED} --each {each}" in first
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
@pytest.mark.parametrize("engine", sorted(path.stem for path in TABLES.glob("*.csv")))
def test_rows_are_the_same_when_the_engine_is_run_again(engine: str) -> None:
    name = f"TUNEGRAPH_{engine.upper()}_PYTHON"
    python = os.environ.get(name)
    if not python:
        pytest.skip(f"no interpreter with {engine}: set {name}")
    rows = read_table(TABLES / f"{engine}.csv")
    rows = rows[:: len(rows) // 7]
    loads = [load for load, _ in rows]
    for (_, known), figures in zip(rows, serve_loads(python, loads, engine), strict=True):
        assert figures == pytest.approx(known, rel=1e-5)
