"""Speed and size: ingest of everything, cold and warm answers.

    python -m benchmarks.speed.scale --known ../shared/data/cases [--quick] [--generated 1000000]

Ingests the folder through the command line into a new workspace, then asks: cold (a process for each
question) and warm (one process, questions drawn from what is known with one size changed, so that no
question is a stored problem), also of models that nobody knows, which are refused. CPU time is user +
system of the process; on a shared machine compare that, not wall time.

``--generated N`` adds problems to the workspace by shifting the sizes of known ones, up to N in all: every
size of a known problem grows by a part of itself that is the same for a round of problems, and its rows come
along.
The last line is JSON.
"""

import gzip
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import harness
from embeddings.index import INDEX_NAME
from kg.errors import TuningError
from kg.nouns.entities import Case, Problem
from kg.nouns.values import Settings
from kg.rows.cases import all_cases
from kg.triples.serialisation import from_graph
from recommender.workspace.workspace import Workspace

QUESTIONS = 400
COLD_RUNS = 7


def run(arguments: list[str], cache: Path) -> dict[str, float]:
    """Run the script and measure it: wall and CPU seconds, peak resident bytes.

    Python keeps what it compiled, as it does after an installation, also where the environment says not to.
    """
    compiled = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(cache / "compiled")}
    script = Path(sys.executable).with_name("tunegraph")
    started = time.monotonic()
    process = subprocess.Popen(
        [str(script), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **compiled, "TUNEGRAPH_CACHE": str(cache)},
    )
    said = process.stderr.read().decode() if process.stderr else ""
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code:
        raise SystemExit(f"{' '.join(arguments)} ended with {code}: {said}")
    return {
        "wall_s": time.monotonic() - started,
        "cpu_s": used.ru_utime + used.ru_stime,
        "rss_bytes": used.ru_maxrss * 1024.0,
    }


def subset(known: Path, folder: Path, rows: int) -> Path:
    """The first rows of each corpus, as a folder of its own."""
    folder.mkdir()
    for path in sorted(known.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            head = [line for _, line in zip(range(rows), stream, strict=False)]
        (folder / path.name.removesuffix(".gz")).write_text("".join(head), encoding="utf-8")
    return folder


def questions(workspace: Workspace, rng: random.Random, number: int) -> list[Problem]:
    """Problems like the known ones that nobody asked: one size of each is another."""
    rows = workspace.trials.summary(rng.sample(workspace.trials.keys().tolist(), 2 * number))
    asked: list[Problem] = []
    for row in rows:
        problem = from_graph(workspace.graph, Problem, row.id)
        shape = problem.workload.shape
        sizes = [name for name, value in shape.items() if type(value) is int and value > 4]
        if not sizes or len(asked) == number:
            continue
        name = rng.choice(sizes)
        size = int(str(shape[name]))
        moved = Settings({**shape, name: size + 1 + rng.randrange(size)})
        asked.append(replace(problem, workload=replace(problem.workload, shape=moved)))
    return asked


def question_files(workspace: Workspace, asked: list[Problem], folder: Path) -> list[Path]:
    """Problem files of the first questions that have an answer."""
    files: list[Path] = []
    for problem in asked:
        if problem.workload.model:  # a plan for a model is another figure
            continue
        try:
            workspace.recommend(problem, 5)
        except TuningError:
            continue
        work = problem.workload
        raw = {
            "op": work.operator,
            "model": work.model,
            "shape": work.shape.to_json(),
            "precision": work.precision,
            "traits": work.traits.to_json(),
            "hardware": problem.hardware.reported or problem.hardware.name,
            "count": problem.hardware.count,
            "objective": problem.objective.metric,
        }
        try:
            workspace.problem({name: value for name, value in raw.items() if value})
        except TuningError:
            continue
        file = folder / f"question-{len(files)}.json"
        file.write_text(json.dumps({name: value for name, value in raw.items() if value}), encoding="utf-8")
        files.append(file)
        if len(files) == COLD_RUNS:
            break
    return files


def warm(workspace: Workspace, asked: list[Problem]) -> dict[str, float]:
    """Milliseconds an answer takes in a process that has answered before."""
    walls, cpus, abstained = [], [], 0
    for problem in asked:
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            workspace.recommend(problem, 5)
        except TuningError:
            abstained += 1
        walls.append(1e3 * (time.perf_counter() - wall))
        cpus.append(1e3 * (time.process_time() - cpu))
    return {
        "p50_ms": statistics.median(walls),
        "p95_ms": statistics.quantiles(walls, n=20)[-1],
        "cpu_p50_ms": statistics.median(cpus),
        "cpu_p95_ms": statistics.quantiles(cpus, n=20)[-1],
        "questions": len(asked),
        "abstained": abstained,
    }


def rebuilding(workspace: Path, cache: Path) -> float:
    """CPU seconds of finding that the index is gone and building it anew from the vectors."""
    with Workspace.editor(workspace, cache=cache) as editor:
        shutil.rmtree(workspace / INDEX_NAME)
        started = time.process_time()
        editor.repair()
        return time.process_time() - started


def generate(workspace: Path, cache: Path, wanted: int, rng: random.Random) -> int:
    """Fill a workspace with shifted copies of its problems; returns how many it has then."""
    with Workspace.open(workspace, cache=cache) as opened:
        base: list[Case] = []
        for case in all_cases(opened.graph, opened.trials):
            if case.problem.workload.shape:
                base.append(case)
            if len(base) >= 60_000:
                break
        there = opened.trials.counts().problems
    with Workspace.editor(workspace, cache=cache) as editor:
        while there < wanted:
            shift = rng.randrange(1, 1 << 20)
            for start in range(0, len(base), 4000):
                moved = [shifted(case, shift) for case in base[start : start + 4000]]
                there += editor.add_cases(moved).problems
                if there >= wanted:
                    break
    return there


def shifted(case: Any, shift: int) -> Any:
    """The same case with every size larger by a part that depends on ``shift``."""
    work = case.problem.workload
    shape = {
        name: value + shift % (value + 7) + 1
        if isinstance(value, int) and not isinstance(value, bool)
        else value
        for name, value in work.shape.items()
    }
    return replace(case, problem=replace(case.problem, workload=replace(work, shape=Settings(shape))))


def main() -> None:
    options = harness.read(
        __doc__,
        harness.place("--known", help="folder of case JSONL files"),
        harness.option("--generated", type=int, default=0, help="problems in all after generation"),
        published=5,
        quick="the first 1,000 rows of each corpus",
    )
    rng = options.random()
    with tempfile.TemporaryDirectory(prefix="tunegraph-scale-") as place:
        folder = Path(place)
        cache = Path(os.environ.get("TUNEGRAPH_CACHE") or folder / "cache")
        known = subset(options.known, folder / "cases", 1000) if options.quick else options.known
        options.last_line(measure(folder / "workspace", cache, known, options.generated, rng))


def measure(workspace: Path, cache: Path, known: Path, generated: int, rng: random.Random) -> dict[str, Any]:
    """All figures."""
    at = ["--workspace", str(workspace)]
    figures: dict[str, Any] = {}
    figures["create_cpu_s"] = run([*at, "kb", "stats", "--json"], cache)["cpu_s"]
    taken = run([*at, "ingest", str(known), "--keep-going", "--json"], cache)
    figures.update({f"ingest_{name}": value for name, value in taken.items()})
    if generated:
        started = time.monotonic()
        figures["generated_problems"] = generate(workspace, cache, generated, rng)
        figures["generate_wall_s"] = time.monotonic() - started
    figures["index_build_cpu_s"] = rebuilding(workspace, cache)
    help_runs = [run(["--help"], cache)["cpu_s"] for _ in range(COLD_RUNS)]
    figures["help_cpu_s"] = statistics.median(help_runs)
    with Workspace.open(workspace, cache=cache) as opened:
        counts = opened.trials.counts()
        figures.update(
            {
                "rows": counts.trials,
                "problems": counts.problems,
                "text_model": opened.snapshot.manifest.get("encoder"),
            }
        )
        asked = questions(opened, rng, QUESTIONS)
        files = question_files(opened, asked, workspace.parent)
        cold = [run([*at, "recommend", str(file), "--json"], cache) for file in files]
        figures["cold_recommend_cpu_s"] = statistics.median(item["cpu_s"] for item in cold)
        figures["cold_recommend_rss_bytes"] = max(item["rss_bytes"] for item in cold)
        figures["cold_recommend_wall_s"] = statistics.median(item["wall_s"] for item in cold)
        warm(opened, asked[:40])
        figures["warm"] = warm(opened, asked)
        unheard = [
            replace(problem, workload=replace(problem.workload, model=f"Model{chr(97 + n % 26)}{n} Unheard"))
            for n, problem in enumerate(asked[: QUESTIONS // 4])
        ]
        figures["warm_refused"] = warm(opened, unheard)
    figures["benchmark_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return figures


if __name__ == "__main__":
    main()
