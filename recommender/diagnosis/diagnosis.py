"""A diagnosis: the facts of a run, at most three causes of its lost time, and what was not collected."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from recommender.diagnosis import modelled
from recommender.diagnosis.analysis import analyse, grown, ratios
from recommender.diagnosis.evidence import View
from recommender.diagnosis.findings import accuse
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.profiles.facts import Missing, Place, Profile, Rank
    from recommender.diagnosis.evidence import Evidence
    from recommender.diagnosis.findings import Accused
    from recommender.diagnosis.network import CauseNetwork
    from recommender.diagnosis.thresholds import Thresholds

MOST_CAUSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FixTest:
    """The run replayed with one cause repaired.

    Attributes:
        factor: Step time before over step time after, on the rank where the cause was seen.
        symptom: Id of the symptom at the head of the chain.
        share_before: Its share of the step.
        share_after: Its share once the cause is repaired.
        measured_us: What the kernels that the cause holds up took; None if it holds up none.
        modelled_us: What the cost model says they need for their shapes; None where it cannot say.
    """

    factor: float
    symptom: str
    share_before: float
    share_after: float
    measured_us: float | None = None
    modelled_us: float | None = None

    @property
    def holds(self) -> bool:
        """Whether repairing the cause makes the symptom smaller."""
        return self.share_after < self.share_before

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "factor": round(self.factor, 4),
            "symptom": self.symptom,
            "symptom_share_before": round(self.share_before, 4),
            "symptom_share_after": round(self.share_after, 4),
            "symptom_eased": self.holds,
            "kind": "modelled",
            "kernels_measured_us": self.measured_us,
            "kernels_modelled_us": self.modelled_us,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
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
    def of(cls, chance: float, share: float) -> Gain:
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
    gain: Gain
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
    """

    profile: Profile
    findings: tuple[Finding, ...]
    evidence: Mapping[str, Evidence]
    labels: Mapping[str, str]
    patterns: frozenset[str]
    least: float
    against: str = ""

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
            f"rank {rank.rank if rank.rank is not None else rank.folder}: {note}" if several else note
            for rank in self.profile.ranks
            for note in rank.notes
        ]
        return list(dict.fromkeys([*self.profile.notes, *mine]))

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
    found = analyse(profile, thresholds) if before is None else grown(profile, before, thresholds)
    posterior = network.posterior(ratios(found, least))
    accused = accuse(network, found, posterior, least)[:MOST_CAUSES]
    return Diagnosis(
        profile=profile,
        findings=tuple(
            Finding(
                accused=item,
                gain=Gain.of(item.chance, item.share),
                fix=fix_test(profile, item, thresholds),
            )
            for item in accused
        ),
        evidence=found,
        labels=network.labels,
        patterns=frozenset(network.broader),
        least=least,
        against="" if before is None else before.path,
    )


def fix_test(profile: Profile, accused: Accused, thresholds: Thresholds) -> FixTest | None:
    """Repair a cause in the facts and look at the symptom again; None if the cause has no repair."""
    cause = next((item for item in accused.evidence if item.node == accused.cause), None)
    if cause is None or cause.fixed is None:
        return None
    place = _place(profile, cause.rank)
    if place is None:
        return None
    rank = profile.ranks[place]
    fixed = repaired(profile, cause)
    before, after = View(rank).total_us, View(fixed.ranks[place]).total_us
    if after <= 0:
        return None
    symptom = accused.chain[0]
    alone = analyse(replace(profile, ranks=(rank,)), thresholds).get(symptom)
    later = analyse(replace(profile, ranks=(fixed.ranks[place],)), thresholds).get(symptom)
    times = None
    if cause.node in modelled.KINDS and cause.lost_by_kernel_us is not None:
        times = modelled.kernel_times_us(View(rank), cause.lost_by_kernel_us)
    return FixTest(
        measured_us=None if times is None else times[0],
        modelled_us=None if times is None else times[1],
        factor=before / after,
        symptom=symptom,
        share_before=0.0 if alone is None else alone.lost_us / before,
        share_after=0.0 if later is None else later.lost_us / after,
    )


def repaired(profile: Profile, cause: Evidence) -> Profile:
    """The run with one cause repaired on the rank where it was seen."""
    place = _place(profile, cause.rank)
    if place is None or cause.fixed is None:
        return profile
    ranks = list(profile.ranks)
    ranks[place] = cause.fixed(ranks[place])
    return replace(profile, ranks=tuple(ranks))


def _place(profile: Profile, rank: int | None) -> int | None:
    if len(profile.ranks) == 1:
        return 0
    return next((i for i, item in enumerate(profile.ranks) if item.rank == rank and rank is not None), None)


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


def _evidence(item: Evidence) -> dict[str, object]:
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


def _place_json(place: Place) -> dict[str, object]:
    return {"file": place.file, "rows": list(place.rows)}
