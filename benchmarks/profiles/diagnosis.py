"""Measures how often a diagnosis names the fault put into a job, and how well profiles are read.

    python -m benchmarks.profiles.diagnosis --profiles DIR [--quick]

DIR holds profile folders. Faults are those of benchmarks/profiles/mechanisms/: by what the world does, with the job's own
losses left in, on jobs that nothing was chosen on. The seed draws every fault, its cost and place; with ``--bases N``
also so many jobs and a third of the mechanisms, and nothing else is told. A figure has its number beside (``_n``).
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.profiles import mechanism_scores, simulated_runs
from benchmarks.profiles.mechanism_scores import told
from benchmarks.profiles.mechanisms.table import MECHANISMS
from ingest.profiles.folders import read_profile
from recommender.diagnosis.rank.view import View

PART = 1 / 3
"""Part of the mechanisms that a seed draws with ``--bases``."""


def readers(folder: Path) -> dict[str, object]:
    """Every sample read, and its sums against the tool's own."""
    read = failed = off = cut = steps = 0
    slowest = 0.0
    for home in sorted(item for item in folder.iterdir() if item.is_dir()):
        began = time.process_time()
        try:
            profile = read_profile(home)
        except Exception as fault:  # noqa: BLE001  counted, and shown
            failed += 1
            print(f"{home.name}: {fault!r}", file=sys.stderr)
            continue
        told(profile, None)
        slowest = max(slowest, time.process_time() - began)
        read += 1
        for rank in profile.ranks:
            for step in rank.steps:
                if rank.kernels is None or step.is_counted:
                    continue
                steps += 1
                mine = float(np.nansum(rank.kernels.duration_us[rank.kernels.is_compute]))
                if abs(mine - View(rank=rank).step_sum("computing_us")) > 0.005 * step.step_us:
                    off += 1
                    cut += any("cut" in note for note in rank.notes)
    return {"folders": read, "failed": failed, "steps_compared": steps, "steps_off": off, "steps_off_explained": cut,
            "slowest_folder_cpu_s": round(slowest, 3)}  # fmt: skip


def large_trace(where: Path, size_mb: int) -> dict[str, object]:
    """A generated trace: CPU seconds and memory to read it."""
    path = where / "large_trace.json"
    simulated_runs.write_trace(path, size_mb * 1_000_000)
    began = time.process_time()
    profile = read_profile(path)
    spent = time.process_time() - began
    kernels = profile.ranks[0].kernels
    path.unlink()
    return {
        "mb": size_mb, "cpu_s": round(spent, 1), "kernels": 0 if kernels is None else len(kernels),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }  # fmt: skip


def main() -> None:
    given = harness.read(
        __doc__,
        harness.place("--profiles", "--known"),
        harness.option("--bases", type=int, help="Jobs that the seed draws; all if none."),
        quick="One repeat of each fault, a small trace.",
    )
    names, mechanisms = [*mechanism_scores.REPORTED], [*MECHANISMS]
    if given.bases:
        names = sorted(given.draw("job", names, share=0, least=given.bases))
        drawn = given.draw("mechanism", [item.name for item in MECHANISMS], share=PART)
        mechanisms = [item for item in MECHANISMS if item.name in drawn]
    report: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as temporary:
        where = Path(temporary)
        if not given.bases:  # first: the peak of memory is its own
            report["trace"] = large_trace(where, 20 if given.quick else 1000)
        strict = mechanism_scores.score(
            given.profiles,
            where,
            given.rng(),
            names=tuple(names),
            runs=1 if given.quick else 3,
            mechanisms=mechanisms,
        )
    report.update(strict)
    if not given.bases:
        report.update(mechanism_scores.ledger_figures(given.profiles), readers=readers(given.profiles))
    given.last_line(report, n=strict["first_strict_alone_n"])


if __name__ == "__main__":
    main()
