"""Measures how often a diagnosis names the mechanism that was put into a job, the job's own losses left in.

Jobs are split: what was looked at while the inference was written (``CHOOSING``), and what is reported. After
each edit ranks meet again in their collectives: those that come early wait.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import mean
from benchmarks.profiles import profile_files
from benchmarks.profiles.mechanisms.rows import jitter, operators
from benchmarks.profiles.mechanisms.table import MECHANISMS, Mechanism
from benchmarks.profiles.profile_files import Random, RankFiles
from benchmarks.profiles.simulated_runs import HOME, LEFT_OUT, World, simulate
from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile
from kg.nouns.knowledge import Bottleneck, Cause
from recommender.diagnosis.causes.network import CauseNetwork
from recommender.diagnosis.diagnosis import Diagnosis, confidence_of, diagnose
from recommender.diagnosis.ledger.accounts import COMPUTING, keep_ledger
from recommender.diagnosis.thresholds import Thresholds
from recommender.store.shipped_knowledge import knowledge

CHOOSING = ("msinsight_text_level1", "dense, four ranks")
REPORTED = ("msinsight_st_level2", "msinsight_text_level0", "wide, another chip", "overlapped")
ABOVE = (1.15, 1.8)
"""Cost of a fault alone, over the largest loss that the job has by itself: then it is the largest cause."""
GROWTH = (0.08, 0.35)
"""Cost of a fault beside an earlier run, as a share of the altered step."""
LEAST_SHARE = 0.15
ACTS = 0.7
"""Part of the asked cost by which the step must grow: else the job hides it, or has too little to act on."""


@cache
def shipped() -> tuple[CauseNetwork, Thresholds]:
    """The shipped bottlenecks and causes, and what shows them."""
    nodes = [noun for noun in knowledge() if isinstance(noun, (Bottleneck, Cause))]
    return CauseNetwork.of(nodes), Thresholds.of(node for node in nodes if isinstance(node, Bottleneck))


def told(now: Profile, before: Profile | None) -> Diagnosis:
    """The product's diagnosis of a run."""
    return diagnose(now, *shipped(), before=before)


def jobs(folder: Path, names: tuple[str, ...]) -> dict[str, list[RankFiles]]:
    """The jobs of these names: real folders, and simulated ones with losses of their own."""
    worlds = {
        "dense, four ranks": World(extra=[("Cast", 120.0, 3)], work=[1.0, 1.04, 1.0, 0.98], launch_us=9.0),
        "wide, another chip": World(chip=LEFT_OUT, layers=5, extra=[("TransData", 150.0, 2)], gradients_mb=25.0),
        "overlapped": World(chip=HOME, layers=10, overlap=True, pauses_us={20: 2500.0}, extra=[("ConcatD", 90.0, 2)]),
    }  # fmt: skip
    found: dict[str, list[RankFiles]] = {}
    for name in names:
        if name in worlds:
            found[name] = simulate(worlds[name], np.random.default_rng(len(name)))
            continue
        ranks = [
            rank
            for path in sorted({p.parent.parent for p in (folder / name).rglob("kernel_details.csv")})
            if (rank := profile_files.load(path)) is not None
        ]
        if ranks:
            found[name] = ranks
    return found


def meet(ranks: list[RankFiles], before: list[RankFiles]) -> None:
    """Ranks meet in their collectives: the shift of the last one's arrival is the shift of all ends."""
    each = [_reductions(rank) for rank in ranks]
    old = [_reductions(rank) for rank in before]
    if len(ranks) < 2 or len({len(rows) for rows in (*each, *old)}) != 1:
        return
    for place in range(len(each[0])):
        shifts, waits = [], []
        for rank, was, rows, rows_before in zip(ranks, before, each, old, strict=True):
            row, (info, row_before) = rows[place][1], rows_before[place]
            shifts.append(float(rank.start[row] - was.start[row_before]))
            waits.append(_wait_us(info))
        least = min(waits)
        end = max(shift - (wait - least) for shift, wait in zip(shifts, waits, strict=True))
        for rank, rows, shift, wait in zip(ranks, each, shifts, waits, strict=True):
            info, row = rows[place]
            more = max(end - shift, -wait)
            times = info["Communication Time Info"]
            times["Wait Time(ms)"] = max(0.0, times.get("Wait Time(ms)", 0.0) + more / 1e3)
            times["Elapse Time(ms)"] = max(0.001, times["Elapse Time(ms)"] + more / 1e3)
            rank.stretch(row, max(more, 0.5 - float(rank.duration[row])))


def _wait_us(info: Mapping[str, Any]) -> float:
    return float(info["Communication Time Info"].get("Wait Time(ms)", 0.0)) * 1e3


def _reductions(rank: RankFiles) -> list[tuple[dict[str, Any], int]]:
    found = [
        (info, rows[0])
        for _, info, rows in operators(rank, lambda name: "send" not in name and "recv" not in name)
    ]
    return sorted(found, key=lambda item: rank.start[item[1]])


def own_loss_us(profile: Profile) -> float:
    """The largest loss that a job has by itself: idle or exposed time of one rank, by its ledger."""
    most = 0.0
    for rank in keep_ledger(profile).ranks:
        parts: dict[str, float] = {}
        for account, us in rank.mean_us.items():
            if account.part != COMPUTING:
                parts[account.part] = parts.get(account.part, 0.0) + us
        most = max([most, *parts.values()])
    return most


def score(
    folder: Path,
    where: Path,
    random: Random,
    *,
    names: tuple[str, ...],
    runs: int,
    claims: list[tuple[float, bool]] | None = None,
    mechanisms: Sequence[Mechanism] = MECHANISMS,
) -> dict[str, Any]:
    """Strict figures, each with its number; None where nothing was asked.

    Each cause that is named adds to ``claims`` its part of the cost of all named, and whether it was put in.
    """
    asked: dict[str, list[tuple[str, bool, bool]]] = {"alone": [], "beside": []}
    claims = [] if claims is None else claims
    healthy: list[bool] = []
    missed: dict[str, list[str]] = {}
    for job, ranks in jobs(folder, names).items():
        base = _profile(ranks, where, "mechanism_base")
        step = max(rank.length() for rank in ranks)
        own = max(own_loss_us(base), LEAST_SHARE * step)
        for mechanism in mechanisms:
            for _ in range(runs):
                for how, before in (("alone", None), ("beside", base)):
                    share = float(random.uniform(*(ABOVE if before is None else GROWTH)))
                    cost = own * share if before is None else step * share / (1 - share)
                    after = _altered(ranks, mechanism.edit, cost, random, where)
                    if after is None:
                        continue
                    found = told(after, before).findings
                    claims += [(item.part, item.cause.node in mechanism.nodes) for item in found]
                    named = [item.cause.node for item in found]
                    right = bool(mechanism.nodes & set(named[:1]))
                    asked[how].append((mechanism.name, right, bool(mechanism.nodes & set(named))))
                    if not right:
                        missed[f"{how}: {mechanism.name}, {job}"] = named
        for _ in range(2 * runs):
            copy = profile_files.duplicate(ranks)
            jitter(copy, random)
            healthy.append(bool(told(_profile(copy, where, "mechanism_after"), base).findings))
    return {
        **_figure("first_strict_alone", [right for _, right, _ in asked["alone"]]),
        **_figure("first_strict_compare", [right for _, right, _ in asked["beside"]]),
        **_figure("top3_strict_alone", [among for _, _, among in asked["alone"]]),
        **_figure("healthy_accused", healthy),
        **reason_figures([(confidence_of(part), right) for part, right in claims]),
        "mechanisms": {
            item.name: [
                mean(right for name, right, _ in held if name == item.name) for held in asked.values()
            ]
            for item in mechanisms
        },
        "mechanisms_missed": missed,
    }


def _figure(name: str, held: list[bool]) -> dict[str, float | int | None]:
    """A share with its number; the share is None where nothing was asked."""
    return {name: mean(held), f"{name}_n": len(held)}


def reason_figures(claims: list[tuple[float, bool]]) -> dict[str, Any]:
    """Scores of the confidence in named causes, beside one constant confidence for all.

    The Brier score is the mean square of confidence less outcome; that of the share of causes which were the
    reason, told of every one, stands beside it.
    """
    if not claims:
        return {"reason_brier": None, "reason_brier_of_base_rate": None, "reason_n": 0}
    said, held = (np.array([float(claim[place]) for claim in claims]) for place in (0, 1))
    return {
        "reason_brier": round(float(np.mean((said - held) ** 2)), 4),
        "reason_brier_of_base_rate": round(float(held.mean() * (1 - held.mean())), 4),
        "reason_calibration_error": calibration(claims),
        "reason_reliability": reliability(claims),
        "reason_n": len(claims),
    }


def calibration(claims: list[tuple[float, bool]], bins: int = 5) -> float | None:
    """Expected calibration error: confidence against how often it is right, in bins of equal number."""
    if not claims:
        return None
    table = reliability(claims, bins)
    return round(sum(abs(said - held) * n for said, held, n in table) / len(claims), 4)


def reliability(claims: list[tuple[float, bool]], bins: int = 5) -> list[tuple[float, float, int]]:
    """Mean confidence, share that was right and number, bin by bin."""
    ordered = sorted(claims)
    parts = np.array_split(np.arange(len(ordered)), min(bins, max(1, len(ordered))))
    return [
        (
            round(float(np.mean([ordered[i][0] for i in part])), 4),
            round(float(np.mean([ordered[i][1] for i in part])), 4),
            len(part),
        )
        for part in parts
        if len(part)
    ]


def ledger_figures(folder: Path) -> dict[str, float | int | None]:
    """Largest share by which the ledger of a folder differs from its steps, over all folders."""
    errors = []
    for home in sorted(item for item in folder.iterdir() if item.is_dir()):
        run = keep_ledger(read_profile(home))
        if run.ranks:
            errors.append(run.error)
    return {"ledger_error_max": max(errors, default=None), "ledger_error_max_n": len(errors)}


def _altered(
    ranks: list[RankFiles], edit: Callable[..., bool], cost: float, random: Random, where: Path
) -> Profile | None:
    """The run with the edit; None where the job has too little that the mechanism acts on."""
    copy = profile_files.duplicate(ranks)
    if not edit(copy, cost, random):
        return None
    meet(copy, ranks)
    if max(rank.length() for rank in copy) < max(rank.length() for rank in ranks) + ACTS * cost:
        return None
    jitter(copy, random)
    return _profile(copy, where, "mechanism_after")


def _profile(ranks: list[RankFiles], where: Path, name: str) -> Profile:
    folder = where / name
    shutil.rmtree(folder, ignore_errors=True)
    return read_profile(profile_files.write(ranks, folder))
