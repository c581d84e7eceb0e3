"""Measures how often a diagnosis names the fault that was put into a traced run.

    python -m benchmarks.profiles.traced_scores [--quick] [--folders]

The mechanisms of benchmarks/profiles/mechanisms/of_traces.py in the jobs of benchmarks/profiles/traced_runs.py:
each alone and beside the same job without it; strict first, among three, healthy runs that are accused, and
CPU seconds of the slowest diagnosis. With ``--folders`` those of the host, in folders without a trace.
"""

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.profiles.folder_runs import FOLDERS, write_folder
from benchmarks.profiles.mechanism_scores import reason_figures, told
from benchmarks.profiles.mechanisms.of_folders import IN_FOLDERS
from benchmarks.profiles.mechanisms.of_traces import DECOYS, TRACED
from benchmarks.profiles.traced_runs import WORLDS, World, length_us, write
from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile
from recommender.diagnosis.diagnosis import Diagnosis

SHARES = (0.12, 0.4)
"""Cost of a fault as a share of the step with it."""


def main() -> None:
    given = harness.read(
        __doc__,
        harness.option("--folders", action="store_true", help="Folders of tables in place of traces."),
        quick="One repeat of each fault.",
    )
    worlds, mechanisms = (FOLDERS, IN_FOLDERS) if given.folders else (WORLDS, TRACED)
    random = given.rng()
    asked: list[tuple[str, str, bool, bool, list[str]]] = []
    claims: list[tuple[float, bool]] = []
    accused: list[bool] = []
    misled: list[bool] = []
    slowest = 0.0

    def written(world: World, where: Path, name: str) -> Path:
        if given.folders:
            shutil.rmtree(where / name, ignore_errors=True)
            return write_folder(world, random, where / name)
        return write(world, random, where / f"{name}.pt.trace.json")

    def diagnosed(world: World, where: Path, before: Profile | None) -> tuple[Profile, Diagnosis]:
        nonlocal slowest
        path = written(world, where, "run")
        began = time.process_time()
        profile = read_profile(path)
        found = told(profile, before)
        slowest = max(slowest, time.process_time() - began)
        return profile, found

    with tempfile.TemporaryDirectory() as temporary:
        where = Path(temporary)
        for job, world in worlds.items():
            step = length_us(world, random) / world.steps
            base = read_profile(written(world, where, "base"))
            for _ in range(1 if given.quick else 3):
                accused.append(bool(diagnosed(world, where, base)[1].findings))
                for _, change, never in DECOYS:
                    decoy = change(world, 0.0, random) or world
                    named = {item.cause.node for item in diagnosed(decoy, where, None)[1].findings}
                    misled.append(bool(never & named))
                for item in mechanisms:
                    share = float(random.uniform(*SHARES))
                    altered = item.change(world, step * share / (1 - share), random)
                    if altered is None or altered is world:
                        continue
                    for before in (None, base) if item.alone else (base,):
                        found = diagnosed(altered, where, before)[1].findings
                        named_in_order = [finding.cause.node for finding in found[:3]]
                        claims += [(f.confidence, f.cause.node in item.nodes) for f in found[:3]]
                        asked.append(
                            (
                                f"{item.name}, {job}",
                                "alone" if before is None else "compared",
                                bool(item.nodes & set(named_in_order[:1])),
                                bool(item.nodes & set(named_in_order)),
                                named_in_order,
                            )
                        )
    report: dict[str, Any] = {}
    for how in ("alone", "compared"):
        mine = [row for row in asked if row[1] == how]
        report[f"traced_first_{how}"] = harness.mean(row[2] for row in mine)
        report[f"traced_first_{how}_n"] = len(mine)
        report[f"traced_top3_{how}"] = harness.mean(row[3] for row in mine)
    report.update(
        traced_accused=harness.mean(accused),
        traced_misled=harness.mean(misled),
        traced_slowest_cpu_s=round(slowest, 3),
        traced_calibration=reason_figures(claims).get("reason_calibration_error"),
        missed={f"{row[1]}: {row[0]}": row[4] for row in asked if not row[2]},
    )
    given.last_line(report, n=len(asked))


if __name__ == "__main__":
    main()
