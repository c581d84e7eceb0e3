"""A diagnosis: the facts of a run, at most three causes of its lost time, and what was not collected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recommender.diagnosis.analysis import analyse, grown, ratios, views
from recommender.diagnosis.causes.findings import ACCUSED, accuse
from recommender.diagnosis.causes.posterior import infer
from recommender.diagnosis.rank.comparison import doubts, facing
from recommender.diagnosis.rank.view import View
from recommender.diagnosis.repair.fix_tests import fix_test, weighed
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ingest.profiles.facts.run import FactPlace, Missing, Profile, Rank
    from recommender.diagnosis.causes.findings import Accused, Refuted
    from recommender.diagnosis.causes.network import CauseNetwork
    from recommender.diagnosis.evidence import SoftEvidence
    from recommender.diagnosis.repair.fix_tests import FixTest, Found
    from recommender.diagnosis.thresholds import Thresholds

MOST_CAUSES = 3
MOST_TESTED = 5
"""Causes whose repair is replayed: the costliest. Two more than are told, so that others can move up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelledGain:
    """What a remedy may bring, as a factor of speed; modelled.

    The cause is there with its chance, and how much of it a remedy wins is not known: any part from nothing
    to all of it counts as equally likely.

    Attributes:
        expected: Mean.
        low: Lower end of the 90 % interval.
        high: Upper end.
    """

    expected: float
    low: float
    high: float

    @classmethod
    def of(cls, chance: float, share: float) -> ModelledGain:
        """Of a cause that is there with ``chance`` and costs ``share`` of the step."""

        def factor(quantile: float) -> float:
            part = max(0.0, (quantile - (1 - chance)) / chance) if chance > 0 else 0.0
            return 1 / (1 - min(share, 0.999) * min(part, 1.0))

        return cls(expected=1 / (1 - min(share, 0.999) * chance / 2), low=factor(0.05), high=factor(0.95))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause.

    Attributes:
        accused: Cause, chain, chance and cost.
        gain: What a remedy may bring.
        fix: The replay with the cause repaired; None where no replay has a meaning.
    """

    accused: Accused
    gain: ModelledGain
    fix: FixTest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a profile says.

    Attributes:
        profile: The facts.
        findings: At most three causes, the costliest first; empty for a healthy profile.
        evidence: All that analysers looked at, by node.
        labels: English names of the nodes.
        patterns: Ids of the nodes that are bottlenecks; the others are settings and the like.
        least: Share of the step from which a cause is significant.
        against: Path of the profile that it was compared with; empty without.
        doubts: What speaks against the comparison.
    """

    profile: Profile
    findings: tuple[Finding, ...]
    evidence: Mapping[str, SoftEvidence]
    labels: Mapping[str, str]
    patterns: frozenset[str]
    least: float
    against: str = ""
    doubts: tuple[str, ...] = ()

    @property
    def missing(self) -> list[Missing]:
        """What was not collected on any rank that has kernels, else on any rank."""
        ranks = [rank for rank in self.profile.ranks if rank.kernels is not None] or list(self.profile.ranks)
        found = {item.what: item for rank in ranks for item in rank.missing}
        had = [{item.what for item in rank.missing} for rank in ranks]
        return [item for what, item in found.items() if all(what in lacks for lacks in had)]

    @property
    def notes(self) -> list[str]:
        """What was cut or does not add up, with the rank."""
        several = len(self.profile.ranks) > 1
        mine = [
            f"rank {name_of(rank, self.profile.path)}: {note}" if several else note
            for rank in self.profile.ranks
            for note in rank.notes
        ]
        return list(dict.fromkeys([*self.doubts, *self.profile.notes, *mine]))

    @property
    def besides(self) -> list[SoftEvidence]:
        """Settings and states that show and that no cause told has in its chain: they cost nothing seen."""
        told = {node for item in self.findings for node in item.accused.chain}
        found = [
            e for e in self.evidence.values() if e.is_setting and e.shown >= ACCUSED and e.node not in told
        ]
        return sorted(found, key=lambda e: (-e.shown, e.node))

    def bottlenecks(self) -> dict[str, float]:
        """Causes with their shares, as a question to ``recommend`` has them: of a setting, what it brings on.

        Shares are of the step and may overlap; where they add up to more than the step they are scaled down.
        """
        found: dict[str, float] = {}
        for item in self.findings:
            name = next((node for node in reversed(item.accused.chain) if node in self.patterns), "")
            if name:
                found[name] = max(found.get(name, 0.0), item.accused.share)
        whole = sum(found.values())
        scale = min(1.0, 0.99 / whole) if whole > 0 else 1.0
        return {name: round(share * scale, 4) for name, share in found.items()}

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "path": self.profile.path,
            "against": self.against or None,
            "significant_share": self.least,
            "ranks": [_rank(rank) for rank in self.profile.ranks],
            "causes": [self._finding(item) for item in self.findings],
            "looked_at": [_evidence(item) for item in sorted(self.evidence.values(), key=lambda e: -e.share)],
            "besides": [item.node for item in self.besides],
            "not_collected": [{"what": item.what, "how": item.how} for item in self.missing],
            "notes": self.notes,
        }

    def _finding(self, item: Finding) -> dict[str, object]:
        accused = item.accused
        return {
            "cause": accused.cause,
            "label": self.labels.get(accused.cause, accused.cause),
            "chain": list(accused.chain),
            "confidence": round(accused.chance, 4),
            "lost_us": round(accused.lost_us, 3),
            "share": round(accused.share, 4),
            "ceiling": round(accused.ceiling, 4),
            "gain": {
                "expected": round(item.gain.expected, 4),
                "low": round(item.gain.low, 4),
                "high": round(item.gain.high, 4),
                "kind": "modelled",
            },
            "fix_test": None if item.fix is None else item.fix.to_json(),
            "perhaps": [{"cause": cause, "chance": round(chance, 4)} for cause, chance in accused.perhaps],
            "evidence": [_evidence(e) for e in accused.evidence],
        }


def name_of(rank: Rank, path: str) -> str:
    """What a rank is called: its number, else its folder, else the last part of the path that was read."""
    if rank.rank is not None:
        return str(rank.rank)
    return rank.folder if rank.folder not in {"", "."} else Path(path).name


def diagnose(
    profile: Profile,
    network: CauseNetwork,
    thresholds: Thresholds,
    *,
    least: float = SIGNIFICANT_SHARE,
    before: Profile | None = None,
) -> Diagnosis:
    """The causes of lost time in a run, or with ``before`` of what it lost since then.

    Args:
        profile: The run.
        network: What causes what.
        thresholds: What shows each pattern.
        least: Share of the step from which a cause is significant.
        before: An earlier run of the same job.
    """
    before = None if before is None else facing(profile, before)
    found = analyse(profile, thresholds) if before is None else grown(profile, before, thresholds)
    posterior = infer(network, ratios(found, least))
    tested = _tested(
        profile, before, thresholds, lambda refuted: accuse(network, found, posterior, least, refuted)
    )
    return Diagnosis(
        profile=profile,
        findings=tuple(
            Finding(accused=item, gain=ModelledGain.of(item.chance, item.share), fix=test)
            for item, test in tested
        ),
        evidence=found,
        labels=network.labels,
        patterns=frozenset(network.broader),
        least=least,
        against="" if before is None else before.path,
        doubts=() if before is None else tuple(doubts(*views(profile, before))),
    )


def _tested(
    profile: Profile,
    before: Profile | None,
    thresholds: Thresholds,
    accused_without: Callable[[Refuted], list[Accused]],
) -> list[tuple[Accused, FixTest | None]]:
    """The causes to tell with their fix tests; edges that a test refutes are left out of a new naming."""
    alone: dict[int, Found] = {}
    failed: dict[str, FixTest] = {}
    accused: list[Accused] = []
    tests: dict[str, FixTest | None] = {}
    for _ in range(MOST_CAUSES):
        accused = accused_without(frozenset(test.refuted for test in failed.values() if test.refuted))[
            :MOST_TESTED
        ]
        tests = {item.cause: fix_test(profile, item, thresholds, alone, before) for item in accused}
        new = {cause: test for cause, test in tests.items() if test and _fails(test) and cause not in failed}
        failed |= new
        if not any(test.refuted for test in new.values()):
            break
    return _ranked(accused, tests | failed)


def _ranked(
    accused: Sequence[Accused], tests: Mapping[str, FixTest | None]
) -> list[tuple[Accused, FixTest | None]]:
    """The causes to tell, each with its fix test; one that fails it stands behind those that do not.

    A cause that the test leaves less likely than not is not told.
    """
    pairs = [(weighed(item, tests[item.cause]), tests[item.cause]) for item in accused]
    pairs = [pair for pair in pairs if pair[0].chance >= ACCUSED]
    pairs.sort(key=lambda pair: (_fails(pair[1]), -pair[0].weight_us, pair[0].cause))
    return pairs[:MOST_CAUSES]


def _fails(test: FixTest | None) -> bool:
    return test is not None and not test.holds


def _rank(rank: Rank) -> dict[str, object]:
    view = View(rank)
    return {
        "rank": rank.rank,
        "folder": rank.folder,
        "layout": rank.layout,
        "level": rank.level or None,
        "device": rank.device or None,
        "cube_cores": view.cores or None,
        "software": dict(rank.software),
        "kernels": None if rank.kernels is None else len(rank.kernels),
        "steps": [
            {
                "step": step.step,
                "step_us": step.step_us,
                "computing_us": step.computing_us,
                "exposed_us": step.exposed_us,
                "overlapped_us": step.overlapped_us,
                "free_us": step.free_us,
                "bubble_us": step.bubble_us,
                "preparing_us": step.preparing_us,
                "counted": step.is_counted,
                "place": str(step.place),
            }
            for step in rank.steps
        ],
        "memory": None
        if rank.memory is None
        else {
            "peak_reserved_mib": rank.memory.peak_reserved_mb,
            "peak_allocated_mib": rank.memory.peak_allocated_mb,
        },
        "files": dict(rank.loads),
    }


def _evidence(item: SoftEvidence) -> dict[str, object]:
    return {
        "node": item.node,
        "says": item.says,
        "shown": round(item.shown, 4),
        "lost_us": round(item.lost_us, 3),
        "share": round(item.share, 4),
        "rank": item.rank,
        "readings": [
            {"metric": r.metric, "value": r.value if math.isfinite(r.value) else None, "unit": r.unit}
            for r in item.readings
        ],
        "places": [_place_json(place) for place in item.places],
    }


def _place_json(place: FactPlace) -> dict[str, object]:
    return {"file": place.file, "rows": list(place.rows)}
