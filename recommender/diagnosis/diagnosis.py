"""A diagnosis: the facts of a run, at most three causes of its lost time, and what was not collected."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ingest.profiles.checks import GPU_LAYOUTS
from ingest.profiles.facts.run import Missing, Profile
from kg.nouns.codec import plain
from recommender.diagnosis.analysis import (
    Evidence,
    beyond,
    evidence_by_rank,
    new_losses,
    ratios,
    strongest,
    views,
)
from recommender.diagnosis.baseline import JobBaseline
from recommender.diagnosis.causes.findings import LIKELY, LikelyCause, likely_causes
from recommender.diagnosis.causes.network import OF_ASCEND, CauseNetwork
from recommender.diagnosis.causes.posterior import infer
from recommender.diagnosis.evidence import SoftEvidence
from recommender.diagnosis.headroom import Headroom, headroom
from recommender.diagnosis.ledger.accounts import RunLedger, keep_ledger
from recommender.diagnosis.ledger.content import ledger_content
from recommender.diagnosis.ledger.difference import LedgerDifference, subtract_ledgers
from recommender.diagnosis.next_measurement import NextMeasurement, next_measurement
from recommender.diagnosis.rank.comparison import doubts, pair_up
from recommender.diagnosis.rank.groups import rank_name
from recommender.diagnosis.rank.view import NOT_KNOWN, DeviceFacts, KernelView, View
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE, Thresholds

SLOPE = 11.6
"""Growth of the log odds from no part to the whole; they are even at one half, for of two causes with half of
the time each one is the reason. Fitted by benchmarks/profiles/reason_confidence.py to 812 causes that were
named for faults put into six jobs whose own losses stayed in; how the curve of five jobs does on the sixth is
in docs/figures-notes.md."""

MOST = 0.98
"""Most that is said, of a cause that is named alone: by Laplace's rule of succession over the six jobs."""


def parts(lost_us: Sequence[float]) -> tuple[float, ...]:
    """The part of each in the time that all named causes are likely to cost; 0 where they cost none."""
    total = sum(lost_us)
    return tuple(us / total if total > 0 else 0.0 for us in lost_us)


def confidence_of(part: float) -> float:
    """The confidence that a cause of this part is the reason, 0 to 1."""
    return min(MOST, 1 / (1 + math.exp(-SLOPE * (part - 0.5))))


MOST_CAUSES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One cause that a diagnosis names.

    Attributes:
        cause: Id, chain, chance and cost.
        part: Its part of the time that all named causes are likely to cost.
    """

    cause: LikelyCause
    part: float = 1.0

    @property
    def confidence(self) -> float:
        """Confidence that it is the reason, beside the others named and no surer than its evidence."""
        most = 1.0 if self.evidence is None else min(self.evidence.shown, self.evidence.sure)
        return min(confidence_of(self.part), most)

    @property
    def evidence(self) -> SoftEvidence | None:
        """Evidence of the cause itself, not of what it brings on."""
        return next((item for item in self.cause.evidence if item.node == self.cause.node), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The causes of lost time in a profile, with the evidence for them.

    Attributes:
        profile: The facts.
        views: Its ranks as the analysers saw them, with the numbers that they agree on.
        findings: At most three causes, the costliest first; empty for a healthy profile.
        others: The significant causes beyond these.
        evidence: The strongest evidence for each node.
        labels: English names of the nodes.
        patterns: Ids of the nodes that are bottlenecks; the others are settings and the like.
        least: Share of the step from which a cause is significant.
        against: Path of the profile that it was compared with; empty without.
        doubts: Reasons against the comparison.
        next: The measurement that would tell most of what is open; None where little is.
        headroom: What kernels of the rank that has most of it leave of a known device.
        ledger: Every microsecond of its steps, booked once.
        before: The ledger of the earlier run; None without.
        difference: The difference of the two; None without, or where a run has no steps.
    """

    profile: Profile
    views: tuple[View, ...]
    findings: tuple[Finding, ...]
    others: tuple[LikelyCause, ...] = ()
    evidence: Mapping[str, SoftEvidence]
    labels: Mapping[str, str]
    patterns: frozenset[str]
    least: float
    ledger: RunLedger
    before: RunLedger | None = None
    difference: LedgerDifference | None = None
    against: str = ""
    doubts: tuple[str, ...] = ()
    next: NextMeasurement | None = None
    headroom: tuple[Headroom, ...] = ()

    @property
    def has_times(self) -> bool:
        """True if anything of the profile took time; a snapshot of memory alone has no times."""
        return any(view.total_us > 0 for view in self.views)

    @property
    def missing(self) -> list[Missing]:
        """Facts that no rank with kernels collected; without kernels, no rank at all."""
        ranks = [rank for rank in self.profile.ranks if rank.kernels is not None] or list(self.profile.ranks)
        by_name = {item.what: item for rank in ranks for item in rank.missing}
        lacking = [{item.what for item in rank.missing} for rank in ranks]
        return [item for what, item in by_name.items() if all(what in names for names in lacking)]

    @property
    def notes(self) -> list[str]:
        """Notes on data that was cut or does not add up, with the rank."""
        several = len(self.profile.ranks) > 1
        of_ranks = [
            f"rank {rank_name(rank, self.profile.path)}: {note}" if several else note
            for rank in self.profile.ranks
            for note in rank.notes
        ]
        return list(dict.fromkeys([*self.doubts, *self.profile.notes, *of_ranks]))

    @property
    def besides(self) -> list[SoftEvidence]:
        """Settings and states that show, but in the chain of no finding: they have no visible cost."""
        named = {node for item in self.findings for node in item.cause.chain}
        others = [
            e for e in self.evidence.values() if e.is_setting and e.shown >= LIKELY and e.node not in named
        ]
        return sorted(others, key=lambda e: (-e.shown, e.node))

    def bottlenecks(self) -> dict[str, float]:
        """Patterns with their shares, as ``recommend`` takes them; a setting counts as its first effect.

        Shares are of the step and may overlap; where they add up to more than the step they are scaled down.
        """
        shares: dict[str, float] = {}
        for item in self.findings:
            name = next((node for node in reversed(item.cause.chain) if node in self.patterns), "")
            if name:
                shares[name] = max(shares.get(name, 0.0), item.cause.share)
        total = sum(shares.values())
        scale = min(1.0, 0.99 / total) if total > 0 else 1.0
        return {name: round(share * scale, 4) for name, share in shares.items()}

    def to_json(self) -> dict[str, object]:
        """The diagnosis as JSON values."""
        return {
            "path": self.profile.path,
            "against": self.against or None,
            "significant_share": self.least,
            "ranks": [_rank(view) for view in self.views],
            "ledger": ledger_content(self.ledger, self.before, self.difference),
            "next_measurement": None if self.next is None else self.next.to_json(),
            "headroom": [item.to_json() for item in self.headroom],
            "causes": [self._finding(item) for item in self.findings],
            "other_causes": [
                {
                    "cause": item.node,
                    "chain": list(item.chain),
                    "lost_us": round(item.lost_us, 3),
                    "share": round(item.share, 4),
                }
                for item in self.others
            ],
            "looked_at": [item.to_json() for item in sorted(self.evidence.values(), key=lambda e: -e.share)],
            "besides": [item.node for item in self.besides],
            "not_collected": [{"what": item.what, "how": item.how} for item in self.missing],
            "notes": self.notes,
        }

    def _finding(self, item: Finding) -> dict[str, object]:
        cause = item.cause
        return {
            "cause": cause.node,
            "label": self.labels.get(cause.node, cause.node),
            "chain": list(cause.chain),
            "confidence": round(item.confidence, 4),
            "chance": round(cause.chance, 4),
            "lost_us": round(cause.lost_us, 3),
            "share": round(cause.share, 4),
            "ceiling": round(cause.ceiling, 4),
            "gain": {"factor": round(cause.ceiling, 4), "kind": "ceiling"},
            "perhaps": [{"cause": name, "chance": round(chance, 4)} for name, chance in cause.perhaps],
            "evidence": plain(cause.evidence),
        }


def diagnose(
    profile: Profile,
    network: CauseNetwork,
    thresholds: Thresholds,
    *,
    least: float = SIGNIFICANT_SHARE,
    before: Profile | None = None,
    usual: JobBaseline | None = None,
    device: DeviceFacts = NOT_KNOWN,
) -> Diagnosis:
    """The causes of lost time in a run; with ``before`` or ``usual``, of the time it lost since then.

    Args:
        profile: The run.
        network: The cause graph.
        thresholds: The marks of each pattern.
        least: Share of the step from which a cause is significant.
        before: An earlier run of the same job.
        usual: What its last runs lost, where no earlier one stands beside it.
        device: What the hardware table has of its device: nominal clock, rates and peaks.
    """
    before = None if before is None else pair_up(profile, before)
    now, sooner = views(profile, before, device)
    ledger, ledger_before = keep_ledger(profile, before), None if before is None else keep_ledger(before)
    if before is not None:
        evidence = new_losses(now, sooner, thresholds)
    else:
        found = evidence_by_rank(now, thresholds)
        evidence = strongest(found) if usual is None else _unusual(now, found, usual, ledger)
    gpu = any(rank.layout in GPU_LAYOUTS for rank in profile.ranks)
    chances = infer(network, ratios(evidence, least))
    causes = likely_causes(network, evidence, chances, least, OF_ASCEND if gpu else frozenset())
    named, others = causes[:MOST_CAUSES], causes[MOST_CAUSES:]
    return Diagnosis(
        profile=profile,
        views=tuple(now),
        findings=tuple(
            Finding(cause=cause, part=part)
            for cause, part in zip(named, parts([cause.weight_us for cause in named]), strict=True)
        ),
        others=tuple(others),
        evidence=evidence,
        labels=network.labels,
        patterns=frozenset(network.broader),
        least=least,
        ledger=ledger,
        before=ledger_before,
        difference=subtract_ledgers((profile, ledger), (before, ledger_before))
        if before is not None and ledger_before is not None
        else None
        if usual is None
        else usual.difference(ledger),
        against=before.path if before is not None else "" if usual is None else f"job {usual.name}",
        doubts=() if before is None else tuple(doubts(now, sooner)),
        next=next_measurement(profile, ledger),
        headroom=max(
            (headroom(view) for view in now if isinstance(view, KernelView)),
            key=lambda found: sum(item.gain_us for item in found),
            default=(),
        ),
    )


def _unusual(
    now: Sequence[View], found: Evidence, usual: JobBaseline, ledger: RunLedger
) -> dict[str, SoftEvidence]:
    """The evidence beyond what the last runs of a job lost in as many steps."""
    steps = {view.rank.rank: len(view.rank.steps) for view in now}
    most = max(steps.values(), default=1)
    earlier = {
        key: replace(item, lost_us=item.lost_us * steps.get(key[1], most))
        for key, item in usual.losses.items()
    }
    length = {rank: us * steps.get(rank, most) for rank, us in usual.step_us.items()}
    evidence = beyond(now, found, earlier, length)
    slower = usual.slower(ledger)
    return evidence if slower is None else {**evidence, slower.node: slower}


def _rank(view: View) -> dict[str, object]:
    rank = view.rank
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
            "peak_reserved_mib": None
            if math.isnan(rank.memory.peak_reserved_mb)
            else rank.memory.peak_reserved_mb,
            "peak_allocated_mib": rank.memory.peak_allocated_mb,
            "parts": [
                {
                    "part": m.component,
                    "at_peak_mib": m.at_peak_mb,
                    "peak_mib": m.peak_mb,
                    "last_mib": m.last_mb,
                }
                for m in rank.details.modules
                if m.at_peak_mb is not None
            ],
        },
        "idle_frames": [
            {"function": item.name, "us": round(item.us, 3)} for item in rank.details.idle_frames
        ],
        "files": dict(rank.loads),
    }
