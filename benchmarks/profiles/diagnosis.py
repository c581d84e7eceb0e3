"""How often a diagnosis names the fault that was put into a real profile, beside two plain ways to do it.

    python -m benchmarks.profiles.diagnosis --profiles DIR [--quick] [--baseline-tool COMMAND]

DIR holds profile folders. Each that has a whole table of kernels is altered with known faults
(benchmarks/profiles/profile_faults.py): one, a pair, or none. Tables of a cluster and a trace alone, on which nothing was
debugged, are altered apart (benchmarks/profiles/left_out_layouts.py). Scored is what changes against the unaltered profile.
Healthy are profiles whose own losses were taken out of the files, with run-to-run noise. Simulated runs come
from benchmarks/profiles/simulated_runs.py (scored in benchmarks/profiles/simulated_scores.py) and are told apart.
The strict figures are of benchmarks/profiles/mechanisms/: faults by what the world does, with the job's own losses
left in, on jobs that nothing was chosen on. The seed draws every fault, its cost and place; with ``--bases N`` also so
many profiles and jobs, and nothing else is told. A figure has its number beside (``_n``).
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.profiles import (
    advice_checks,
    left_out_layouts,
    mechanism_scores,
    profile_faults,
    profile_files,
    simulated_runs,
    simulated_scores,
)
from benchmarks.profiles.fault_scores import Score, mean
from benchmarks.profiles.mechanisms.table import MECHANISMS
from benchmarks.profiles.profile_faults import FAULTS, KnownFault
from benchmarks.profiles.profile_files import Random
from ingest.profiles.facts.run import Profile
from ingest.profiles.folders import read_profile
from kg.nouns.knowledge import Bottleneck, Cause
from recommender.diagnosis.analysis import analyse, new_losses, views
from recommender.diagnosis.causes.network import CauseNetwork
from recommender.diagnosis.diagnosis import Diagnosis, diagnose
from recommender.diagnosis.evidence import SoftEvidence
from recommender.diagnosis.rank.view import View
from recommender.diagnosis.repair.fix_tests import repair
from recommender.diagnosis.thresholds import Thresholds
from recommender.store.shipped_knowledge import knowledge

COSTS = (0.1, 0.4)
"""Share of the altered step that a fault costs: drawn evenly between."""
PART = 1 / 3
"""Part of the faults and mechanisms that a seed draws with ``--bases``."""
NODES = [noun for noun in knowledge() if isinstance(noun, (Bottleneck, Cause))]
THRESHOLDS = Thresholds.of(node for node in NODES if isinstance(node, Bottleneck))
NETWORK = CauseNetwork.of(NODES)


def bases(folder: Path) -> list[tuple[str, list[profile_files.RankFiles]]]:
    """Profiles to alter: each whole folder, and the same with its own losses taken out."""
    found = []
    for home in sorted(item for item in folder.iterdir() if item.is_dir()):
        inside = sorted({path.parent.parent if path.parent.name == "ASCEND_PROFILER_OUTPUT" else path.parent
                         for path in [*home.rglob("kernel_details.csv"), *home.rglob("op_summary*.csv")]})  # fmt: skip
        ranks = [(rank, path) for path in inside if (rank := profile_files.load(path)) is not None]
        if not ranks or not all(profile_files.is_whole(rank, path) for rank, path in ranks):
            continue
        own = [rank for rank, _ in ranks]
        if len({rank.rank for rank in own}) < len(own):
            continue
        found.append((home.name, own))
        still = profile_files.duplicate(own)
        profile_faults.quiet(still)
        found.append((f"{home.name}, own losses out", still))
    return found


def profile_of(ranks: list[profile_files.RankFiles], where: Path, name: str) -> Profile:
    """Written to files, and read by the product's readers."""
    folder = where / name
    if folder.exists():
        shutil.rmtree(folder)
    return read_profile(profile_files.write(ranks, folder))


def struck(
    ranks: list[profile_files.RankFiles], faults: Sequence[KnownFault], random: Random
) -> list[profile_files.RankFiles] | None:
    """A copy with the faults in it; None if one does not apply."""
    copy = profile_files.duplicate(ranks)
    for fault in faults:
        share = random.uniform(*COSTS)
        cost = copy[0].length() * share / (1 - share)
        if not fault.strike(copy, cost, random):
            return None
    return copy


# ------------------------------------------------------------------ three ways to name a fault
def ours(after: Profile, before: Profile | None) -> list[tuple[str, float, tuple[str, ...]]]:
    found = diagnose(after, NETWORK, THRESHOLDS, before=before)
    return [(f.cause.node, f.cause.chance, f.cause.chain) for f in found.findings]


RULES = (
    "aicpu-operator",
    "dynamic-shape",
    "block-dim-imbalance",
    "no-bound-operator",
    "inner-axis-misalignment",
    "attention-dimension-misalignment",
    "frequency-drop",
    "memory-bandwidth",
    "vector-bound",
    "move-out-bound",
    "fixpipe-bound",
    "unfused-operators",
    "small-packets",
    "byte-misalignment",
    "rdma-retransmission",
    "slow-rank",
    "slow-link",
    "python-gc-high-latency",
    "slow-dataloader",
    "memory-allocation-stall",
    "host-device-synchronisation",
)
"""What msprof-analyze looks at, in its order (research note on its rules)."""


def rules(after: Profile, before: Profile) -> list[tuple[str, float, tuple[str, ...]]]:
    """The advisor's way: each rule fires where its reading passes the published threshold and something is there.

    No sizes, no order by benefit: what fires newly comes in the order of the rules.
    """

    def fired(profile: Profile) -> set[str]:
        found = analyse(profile, THRESHOLDS)
        return {
            node for node in RULES if node in found and found[node].shown >= 0.5 and found[node].lost_us > 0
        }

    new = fired(after) - fired(before)
    named: list[tuple[str, float, tuple[str, ...]]] = [(node, 1.0, (node,)) for node in RULES if node in new]
    return named[:3]


def deviation(after: Profile, before: Profile) -> list[tuple[str, float, tuple[str, ...]]]:
    """Whatever grew most."""
    more = new_losses(*views(after, before), THRESHOLDS)
    ranked = sorted((e for e in more.values() if e.share > 0.01), key=lambda e: -e.share)
    return [(item.node, min(1.0, item.share), (item.node,)) for item in ranked[:3]]


WAYS = {"ours": ours, "threshold_rules": rules, "largest_deviation": deviation}


def altered(
    chosen: list[tuple[str, list[profile_files.RankFiles]]],
    where: Path,
    random: Random,
    *,
    repeats: int,
    pairs: int,
    healthy: int,
    faults: Sequence[KnownFault] = FAULTS,
) -> dict[str, Score]:
    """Scores of all ways on altered real profiles."""
    scores = {name: Score() for name in WAYS}
    alone = scores["ours, without an earlier run"] = Score()
    for _, ranks in chosen:
        before = profile_of(ranks, where, "before")
        told = {cause for cause, _, _ in ours(before, None)}
        taken = []
        for fault in faults:
            for number in range(repeats):
                copy = struck(ranks, [fault], random)
                if copy is None:
                    continue
                profile_faults.jitter(copy, random)
                after = profile_of(copy, where, "after")
                taken.append(fault)
                for way, named in WAYS.items():
                    scores[way].single(fault, named(after, before))
                if not number and fault.node not in told:
                    alone.single(fault, [item for item in ours(after, None) if item[0] not in told])
        kinds = list({fault.node: fault for fault in taken}.values())
        for _ in range(pairs if len(kinds) > 1 else 0):
            first, second = (kinds[i] for i in random.choice(len(kinds), 2, replace=False))
            related = {first.node, second.node}
            if first.node in second.chain or second.node in first.chain:
                continue
            copy = struck(ranks, [first, second], random)
            if copy is None:
                continue
            after = profile_of(copy, where, "after")
            for way, named in WAYS.items():
                names = {found for found, _, _ in named(after, before)}
                scores[way].pairs.append(related <= names)
        sound = cured(before)
        for _ in range(healthy):
            copy = profile_files.duplicate(ranks)
            profile_faults.jitter(copy, random)
            after = profile_of(copy, where, "after")
            for way, named in WAYS.items():
                scores[way].healthy.append(bool(named(after, before)))
            if sound is not None:  # alone, with nothing to compare it with
                scores["ours"].healthy.append(
                    bool(diagnose(noisy(sound, random), NETWORK, THRESHOLDS).findings)
                )
    return scores


def cured(profile: Profile) -> Profile | None:
    """The profile with its own findings repaired, one after the other; None if they do not end in six rounds."""
    for _ in range(6):
        found = diagnose(profile, NETWORK, THRESHOLDS).findings
        if not found:
            return profile
        cause: SoftEvidence | None = None
        for item in found:
            cause = next((e for e in item.cause.evidence if e.node == item.cause.node), None)
            if cause is None or cause.fixed is None:
                return None
        assert cause is not None
        profile = repair(profile, cause)
    return None


def noisy(profile: Profile, random: Random) -> Profile:
    """Run-to-run noise on the times of kernels and the parts of steps."""
    ranks = []
    for rank in profile.ranks:
        kernels = rank.kernels
        if kernels is not None:
            factor = np.clip(random.normal(1, 0.02, len(kernels)), 0.94, 1.06)
            kernels = kernels.with_values(duration_us=kernels.duration_us * factor)
        ranks.append(replace(rank, kernels=kernels))
    return replace(profile, ranks=tuple(ranks))


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
        diagnose(profile, NETWORK, THRESHOLDS)
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
    import resource

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


def told(now: Profile, before: Profile | None) -> Diagnosis:
    """What the product says of a run."""
    return diagnose(now, NETWORK, THRESHOLDS, before=before)


def drawn(given: harness.Run, random: Random) -> None:
    """The figures of drawn profiles and jobs alone."""
    found = bases(given.profiles)
    homes = given.draw("profile", [name.partition(",")[0] for name, _ in found], share=0, least=given.bases)
    jobs = given.draw("job", mechanism_scores.REPORTED, share=0, least=given.bases)
    nodes = given.draw("fault", [fault.node for fault in FAULTS], share=PART)
    mechanisms = given.draw("mechanism", [item.name for item in MECHANISMS], share=PART)
    with tempfile.TemporaryDirectory() as temporary:
        scores = altered(
            [item for item in found if item[0].partition(",")[0] in homes],
            Path(temporary),
            random,
            repeats=1,
            pairs=2,
            healthy=2,
            faults=[fault for fault in FAULTS if fault.node in nodes],
        )
        strict = mechanism_scores.score(
            given.profiles,
            Path(temporary),
            random,
            told,
            names=tuple(sorted(jobs)),
            runs=1,
            mechanisms=[item for item in MECHANISMS if item.name in mechanisms],
        )
    singles = sum(len(rows) for rows in scores["ours"].singles.values())
    given.last_line({**strict, **scores["ours"].figures()}, n=singles)


def main() -> None:
    given = harness.read(
        __doc__,
        harness.place("--profiles", "--known"),
        harness.option("--trace-mb", type=int, help="Size of the generated trace; 1000 unless quick."),
        harness.option("--bases", type=int, help="Profiles and jobs that the seed draws; all if none."),
        quick="One repeat of each fault, few pairs, a small trace.",
    )
    random = given.rng()
    quick = given.quick
    if given.bases:
        drawn(given, random)
        return
    with tempfile.TemporaryDirectory() as temporary:
        where = Path(temporary)
        trace = large_trace(
            where, given.trace_mb or (20 if quick else 1000)
        )  # first: the peak of memory is its own
        scores = altered(
            bases(given.profiles),
            where,
            random,
            repeats=1 if quick else 3,
            pairs=6 if quick else 20,
            healthy=3 if quick else 8,
        )
        ways = simulated_scores.Ways(
            WAYS, Score, FAULTS, lambda run: bool(diagnose(run, NETWORK, THRESHOLDS).findings), where
        )
        simulated = simulated_scores.score(random, ways, runs=1 if quick else 5)
        strict = mechanism_scores.score(
            given.profiles,
            where,
            random,
            told,
            names=mechanism_scores.REPORTED,
            runs=1 if quick else 3,
        )
        advice = advice_checks.score(
            given.profiles, where, lambda profile: diagnose(profile, NETWORK, THRESHOLDS)
        )
        layouts = left_out_layouts.score(given.profiles, random, ours, Score, where, runs=1 if quick else 5)
    result: dict[str, object] = {name: score.figures() for name, score in scores.items()}
    ours_figures = result.pop("ours")
    without = result.pop("ours, without an earlier run")
    assert isinstance(ours_figures, dict)
    kinds = {node: [mean(a for a, _ in rows), mean(b for _, b in rows), len(rows)]
             for node, rows in sorted(scores["ours"].singles.items())}  # fmt: skip
    for node, (one, three, n) in kinds.items():
        print(f"{node:38} top1 {one:.2f}  top3 {three:.2f}  n {n}")
    report = {
        **strict, **advice, **mechanism_scores.ledger_figures(given.profiles),
        **ours_figures, "baselines": result, "kinds": kinds, "without_earlier_run": without, "simulated": simulated, "left_out_layouts": layouts,
        "readers": readers(given.profiles), "trace": trace,
        "costs": COSTS,
    }  # fmt: skip
    given.last_line(report, n=sum(len(rows) for rows in scores["ours"].singles.values()))


if __name__ == "__main__":
    main()
