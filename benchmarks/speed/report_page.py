"""Bytes and speed of a report's page.

    python -m benchmarks.speed.report_page [--quick] [--keep FOLDER]

Prints the size of a page of 2,000 cells of heat, 500 trials and 7 days of carbon intensity, and what it takes to make
it; the same of a search of 100,000 trials (``--quick``: 10,000), from its trials in memory; and, where playwright and a
Chromium are installed (``TUNEGRAPH_CHROMIUM`` names one), how long the page takes to be drawn, how long a step of the
slider takes with 10,000 points, how many requests it makes, and the findings of axe-core where ``TUNEGRAPH_AXE`` names
its ``axe.min.js``. All content is drawn from a fixed seed and passes through the readers and the sections of the
product. The last line is JSON.
"""

import json
import os
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.speed.browser import Chromium, find_chromium
from kg.nouns.entities import Better, Status
from kg.nouns.values import Settings
from recommender.answers.report_parts import document_of, part_of
from recommender.experiment.design import ExperimentDesign
from recommender.experiment.journal import Logged
from recommender.experiment.metadata import ExperimentMetadata
from recommender.experiment.samples import Sample
from recommender.report.document import ReportDocument, ReportPart
from recommender.report.page import page
from recommender.search.evaluations import Evaluation
from recommender.search.log.trial_record import LoggedTrial
from recommender.search.report.result import Result
from recommender.search.run.assembly import task_of
from recommender.workspace.workspace import Workspace

OPERATORS, RANKS = 40, 50
TRIALS, LONG, QUICK_LONG = 500, 100_000, 10_000
SLIDER_POINTS = 10_000
DAYS = 7
_NOW = datetime(2026, 3, 27, tzinfo=UTC)
_HEADER = (
    "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Input Shapes,"
    "aic_mac_ratio,aiv_vec_ratio"
)
_SPACE = {
    "parameters": {
        "tile": [2**k for k in range(12)],
        "warps": list(range(1, 65)),
        "stages": list(range(1, 160)),
    },
    "default": {"tile": 1, "warps": 1, "stages": 1},
    "command": ["true", "{tile}", "{warps}", "{stages}"],
    "metrics": {"kernel_time": {"path": "t", "unit": "s"}, "energy": {"path": "e", "unit": "J"}},
    "objectives": ["kernel_time", "energy"],
}


def write_profile(folder: Path, rng: np.random.Generator, *, ranks: int = RANKS, slow: float = 1.0) -> Path:
    """A profile of many ranks as its files, with one rank of slow kernels."""
    for rank in range(ranks):
        inside = folder / f"rank_{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        inside.mkdir(parents=True)
        (inside.parent / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": rank}))
        lines, at = [_HEADER], 0.0
        for number in range(3 * OPERATORS):
            kind = number % OPERATORS
            us = (
                2000
                / (1 + kind)
                * float(rng.lognormal(0, 0.05))
                * (1.6 * slow if rank == 7 and kind == 3 else slow)
            )
            lines.append(
                f"1,Operator{kind}_{number},Operator{kind},AI_CORE,1700000000{at:09.1f},{us:.3f},0.5,24,"
                f'"4096,{64 * (kind + 1)}",{rng.random():.3f},{rng.random():.3f}'
            )
            at += us + 1.0
        (inside / "kernel_details.csv").write_text("\n".join(lines) + "\n")
        free = at * 0.1
        (inside / "step_trace_time.csv").write_text(
            "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage\n"
            f"1,{at},{at * 0.2},0,{at * 0.2},{free},{at * 1.2 + free}\n"
        )
    return folder


def search_result(workspace: Workspace, folder: Path, rng: np.random.Generator, trials: int) -> Result:
    """A search of so many trials of two objectives; a twentieth failed."""
    search = workspace.search(dict(_SPACE), log=str(folder / f"{trials}.journal"), base={})
    names = {name: list(values) for name, values in _SPACE["parameters"].items()}  # type: ignore[attr-defined]
    sizes = [len(values) for values in names.values()]
    chosen = rng.choice(int(np.prod(sizes)), size=trials, replace=trials > int(np.prod(sizes)))
    times, energies = rng.lognormal(-6, 0.5, trials), rng.lognormal(2, 0.4, trials)
    failed = rng.random(trials) < 0.05
    places = np.unravel_index(chosen, sizes)
    found = []
    for number in range(trials):
        setting = Settings(
            {name: values[int(places[at][number])] for at, (name, values) in enumerate(names.items())}
        )
        ok = not failed[number]
        evaluation = Evaluation(
            configuration=setting,
            values=(float(times[number]), float(energies[number])) if ok else (None, None),
            status=Status.OK if ok else Status.FAILED,
            reason="" if ok else "out of memory",
            cost_s=1.0,
        )
        found.append(
            LoggedTrial(
                number=number,
                trial_id=number,
                state="COMPLETE" if ok else "FAIL",
                configuration=setting,
                origin="model",
                owner="",
                until=None,
                beat=None,
                evaluation=evaluation,
                elapsed_s=float(number),
                notes=(),
                expected=None,
                ended=None,
            )
        )
    return Result(log=search.log, task=task_of(search.log), trials=found)


def experiment(rng: np.random.Generator, pairs: int = 120) -> ReportPart:
    """An A/B test of so many pairs with a gain of 3 %."""
    arms = {"control": Settings({"tile": 1}), "treatment": Settings({"tile": 8})}
    design = ExperimentDesign(metric="step_time", better=Better.LOWER, unit="s", arms=arms, pairs=pairs)
    samples = [
        Sample(
            session=0,
            round=number,
            slot=slot,
            arm=arm,
            runs=(({"step_time": float(rng.lognormal(mean, 0.03))},),),
        )
        for number in range(pairs)
        for slot, (arm, mean) in enumerate((("control", 0.0), ("treatment", -0.03)))
    ]
    logged = Logged(
        name="tile-8", design=design, about=ExperimentMetadata(), samples=tuple(samples), concluded={}
    )
    return part_of(logged, logged.name)


def carbon(rng: np.random.Generator, days: int = DAYS) -> ReportPart:
    """A plan over so many days of half hours, half of them forecast, across a clock change."""
    slots = 48 * days
    daily = 260 + 90 * np.sin(np.arange(2 * slots) * 2 * np.pi / 48) + np.cumsum(rng.normal(0, 4, 2 * slots))
    half, start = slots // 2, _NOW
    ahead = daily[half:slots]
    spread = 1.645 * 6 * np.sqrt(np.arange(len(ahead)) + 1)
    begin = start + timedelta(minutes=30 * half)
    content = {
        "series": {
            "region": "DE",
            "start": start.isoformat(),
            "slot_minutes": 30,
            "kind": "measured",
            "g_per_kwh": [round(float(v), 1) for v in daily[:half]],
            "source": "made for this benchmark",
        },
        "forecast": {
            "region": "DE",
            "start": begin.isoformat(),
            "slot_minutes": 30,
            "middle": [round(float(v), 1) for v in ahead],
            "low": [round(float(v), 1) for v in ahead - spread],
            "high": [round(float(v), 1) for v in ahead + spread],
        },
        "asked": {"start": begin.isoformat(), "end": (begin + timedelta(hours=8)).isoformat()},
        "planned": [
            {
                "start": (begin + timedelta(hours=h)).isoformat(),
                "end": (begin + timedelta(hours=h + 4)).isoformat(),
            }
            for h in (16, 40)
        ],
        "deadline": (begin + timedelta(hours=72)).isoformat(),
        "saving": {"expected": 0.172, "low": 0.09, "high": 0.24, "asked_g": 4210.0, "planned_g": 3486.0},
        "statement": {
            "text": [],
            "numbers": [
                {"what": "energy", "value": 14.2, "unit": "kWh", "kind": "modelled", "source": "cost model"}
            ],
        },
    }
    return ReportPart(kind="green", source="plan.json", content=content)


def report(parts: list[ReportPart], title: str) -> ReportDocument:
    """A report of parts."""
    return document_of(parts, program="tunegraph benchmark", now=_NOW, title=title)


def measure(folder: Path, *, quick: bool) -> dict[str, Any]:
    """All figures."""
    rng = np.random.default_rng(0)
    cache = folder / "cache"
    Workspace.create(folder / "workspace", cache=cache, text_model=None)
    figures: dict[str, Any] = {}
    with Workspace.open(folder / "workspace", cache=cache) as workspace:
        diagnosis = workspace.profiles.diagnose(
            write_profile(folder / "now", rng, slow=1.1), before=write_profile(folder / "before", rng)
        )
        short = search_result(workspace, folder, rng, TRIALS)
        began = time.process_time()
        parts = [part_of(diagnosis, "now"), part_of(short, "search.journal"), experiment(rng), carbon(rng)]
        made = page(report(parts, "A page of the usual size"))
        figures["page_cpu_s"] = time.process_time() - began
        figures["page_bytes"] = len(made.encode())
        figures["cells"] = sum(len(item["by_rank"]) for item in parts[0].content["heat"]["operators"])
        (folder / "page.html").write_text(made, encoding="utf-8")
        number = QUICK_LONG if quick else LONG
        long = search_result(workspace, folder, rng, number)
        began = time.process_time()
        made = page(report([part_of(long, "search.journal")], "A long search"))
        figures |= {
            "long_trials": number,
            "long_cpu_s": time.process_time() - began,
            "long_bytes": len(made.encode()),
        }
        (folder / "long.html").write_text(made, encoding="utf-8")
    slider = slider_page(rng)
    (folder / "slider.html").write_text(slider, encoding="utf-8")
    program = find_chromium()
    if program is None:
        print("no browser: install playwright and Chromium, or name one in TUNEGRAPH_CHROMIUM")
        return figures
    with Chromium(program) as browser:
        looks = 3 if quick else 7
        figures |= browser.page_figures(folder / "page.html", looks)
        figures["long_drawn_ms"] = browser.page_figures(folder / "long.html", looks)["drawn_ms"]
        figures["slider_ms"] = browser.slider_ms(folder / "slider.html")
        if axe := os.environ.get("TUNEGRAPH_AXE"):
            figures["axe"] = browser.axe(folder / "page.html", Path(axe))
    return figures


def slider_page(rng: np.random.Generator) -> str:
    """A page whose front has 10,000 points."""
    along = np.sort(rng.random(SLIDER_POINTS)) + 0.1
    content = {
        "objectives": [
            {"metric": "kernel_time", "unit": "s", "better": "lower"},
            {"metric": "energy", "unit": "J", "better": "lower"},
        ],
        "configurations_count": SLIDER_POINTS,
        "points": [[float(a), float(1 / a)] for a in along],
        "front": list(range(SLIDER_POINTS)),
        "configurations": {},
    }
    part = ReportPart(kind="search", source="front", content={"search": "front", "front_points": content})
    return page(report([part], "A front of 10,000 points"))


def main() -> None:
    """Measure, print, and print again as JSON."""
    options = harness.read(
        __doc__,
        harness.option("--keep", type=Path, help="folder that keeps the pages"),
        quick="10,000 trials for the long search, fewer looks",
    )
    with tempfile.TemporaryDirectory() as temporary:
        figures = measure(Path(temporary), quick=options.quick)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            for name in ("page.html", "long.html", "slider.html"):
                (options.keep / name).write_bytes((Path(temporary) / name).read_bytes())
    for name, value in figures.items():
        print(f"{name:<16} {value}")
    options.last_line(figures)


if __name__ == "__main__":
    main()
