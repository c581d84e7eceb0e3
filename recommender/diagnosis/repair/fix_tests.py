"""The fix test: the run replayed with one cause repaired, and the odds that this leaves the cause.

A cause whose repair leaves its symptom as it is loses odds. The loss is bounded: the replay rests on the same
facts as the diagnosis, and the cost model errs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np

from ingest.profiles.facts.run import Profile
from recommender.cost_model.fit.kernels import Factors, KernelModel, batch
from recommender.cost_model.fit.profiles import bin_of
from recommender.cost_model.operators.kernel import parse
from recommender.cost_model.operators.kinds import reference_device, shipped
from recommender.diagnosis.analysis import analyse, views
from recommender.diagnosis.causes.findings import LATE, LOCAL_SHARE
from recommender.diagnosis.evidence import SoftEvidence
from recommender.diagnosis.patterns.clocks import highest_mhz
from recommender.diagnosis.rank.collectives import idle_us, lateness_us
from recommender.diagnosis.rank.repairs import arrive_earlier
from recommender.diagnosis.rank.view import KernelView, View
from recommender.diagnosis.thresholds import soft

if TYPE_CHECKING:
    from ingest.profiles.facts.kernels import Floats
    from ingest.profiles.facts.run import Rank
    from recommender.diagnosis.causes.findings import LikelyCause
    from recommender.diagnosis.thresholds import Thresholds


KINDS = frozenset(
    {
        *("aicpu-operator", "unsupported-dtype", "index-operators", "no-bound-operator", "memory-bandwidth"),
        *("move-out-bound", "fixpipe-bound", "scalar-bound", "vector-bound", "instruction-cache-miss"),
        *("block-dim-imbalance", "frequency-drop"),
    }
)
"""Causes whose repair leaves kernels the time that their shapes need."""

LEAST_CORES = 8
"""Cube cores below which a part is no bin of the calibrated one."""


def kernel_times_us(view: View, lost_us: Floats) -> tuple[float, float] | None:
    """Measured and modelled time of the kernels that lose time, microseconds.

    Args:
        view: The rank.
        lost_us: Time that each compute kernel loses, shape (n,).

    Returns:
        Both sums, over the kernels whose shapes were collected; None where the cost model cannot say: shapes,
        cores or clock are missing.
    """
    clock = highest_mhz(view) * 1e6
    if not isinstance(view, KernelView) or view.cores < LEAST_CORES or clock <= 0:
        return None
    kernels = view.kernels
    shapes = kernels.texts["input_shapes"]
    has_shapes = shapes.where(bool(text.strip(" ;")) for text in shapes.labels)
    rows = np.flatnonzero((lost_us > 0) & has_shapes)
    if not len(rows):
        return None
    parsed = [
        parse(
            kernels.text("kind", int(row)) or kernels.text("name", int(row)),
            kernels.text("input_shapes", int(row)),
            kernels.text("output_shapes", int(row)),
            kernels.text("input_types", int(row)),
            kernels.text("output_types", int(row)),
        )
        for row in rows
    ]
    operators = shipped()
    fitted = operators.kernels
    model = KernelModel(fitted["constants"], Factors(fitted["classes"], fitted["types"]))
    work = batch(bin_of(reference_device(), view.cores, clock), parsed, operators.kinds["matmul_bf16"])
    return float(kernels.duration_us[rows].sum()), float(np.nansum(model.times_us(work)))


FAILED = 0.2
"""Likelihood ratio of a repair that eases nothing: as if the replay were wrong one time in six. Assumed."""

MODEL_ERROR = 0.3
"""Relative error of the cost model for kernels inside real runs, the goal for the median in
docs/figures-cost-model.md: how softly "they take no longer than their shapes need" is meant."""

WAITING = "collective-wait"
EvidenceByNode = dict[str, SoftEvidence]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixTest:
    """The run replayed with one cause repaired.

    Attributes:
        factor: Step time before over step time after, on the rank where the symptom was seen.
        symptom: Id of the symptom at the head of the chain, as far as this rank shows it.
        share_before: Its share of the step.
        share_after: Its share once the cause is repaired.
        eased_us: Time that the symptom costs less.
        saved_us: Time that all steps of the rank are shorter.
        refuted: Edge (effect, cause) of the chain beyond which nothing is eased; None if all of it is.
        measured_us: Time of the kernels that the cause holds up; None if it holds up none.
        modelled_us: Time that the cost model gives them for their shapes; None where it cannot.
    """

    factor: float
    symptom: str
    share_before: float
    share_after: float
    eased_us: float
    saved_us: float = 0.0
    refuted: tuple[str, str] | None = None
    measured_us: float | None = None
    modelled_us: float | None = None

    @property
    def holds(self) -> bool:
        """True if repairing the cause makes the symptom smaller."""
        return bool(self.eased_us > 0)

    @property
    def ratio(self) -> float:
        """Likelihood ratio of the test for the cause: 1 if nothing speaks against it, down to FAILED**2."""
        ratio = 1.0 if self.holds else FAILED
        if self.measured_us and self.modelled_us:
            needed = soft(np.asarray(self.modelled_us / self.measured_us), 1.0, MODEL_ERROR)
            ratio *= FAILED ** float(needed)
        return ratio

    def to_json(self) -> dict[str, object]:
        """The test as JSON values."""
        return {
            "factor": round(self.factor, 4),
            "symptom": self.symptom,
            "symptom_share_before": round(self.share_before, 4),
            "symptom_share_after": round(self.share_after, 4),
            "symptom_eased": self.holds,
            "symptom_eased_us": round(self.eased_us, 3),
            "likelihood_ratio": round(self.ratio, 4),
            "kind": "modelled",
            "kernels_measured_us": self.measured_us,
            "kernels_modelled_us": self.modelled_us,
        }


def fix_test(
    profile: Profile,
    suspect: LikelyCause,
    thresholds: Thresholds,
    by_rank: dict[int, EvidenceByNode] | None = None,
    earlier_run: Profile | None = None,
) -> FixTest | None:
    """Repair a cause in the facts and analyse its symptom again; None if the cause has no repair.

    Args:
        profile: The run.
        suspect: The cause.
        thresholds: The marks of each pattern.
        by_rank: Evidence of each rank analysed by itself, by its place in the run; filled as needed.
        earlier_run: An earlier run of the job, if the cause is one of what grew since.
    """
    cause = next((item for item in suspect.evidence if item.node == suspect.node), None)
    if cause is None or cause.fixed is None:
        return None
    place = _place(profile, cause.rank)
    if place is None:
        return None
    chain = suspect.chain
    rank = profile.ranks[place]
    before, after, effects = rank, cause.fixed(rank), chain[:-1] or chain
    at, waiting = place, _place(profile, suspect.evidence[0].rank)
    if waiting is not None and waiting != place and waits_for(chain):
        at, before = waiting, profile.ranks[waiting]
        saved = View(rank=rank).total_us - View(rank=after).total_us
        after = arrive_earlier(before, min(saved, lateness_us(before, rank)))
        effects = chain[: chain.index(WAITING) + 1]
    length, later_length = View(rank=before).total_us, View(rank=after).total_us
    most = _most_saved_us(profile, place, cause) if at == place else np.inf
    later_length = max(later_length, length - most)
    if later_length <= 0:
        return None
    evidence = {} if by_rank is None else by_rank
    if at not in evidence:
        evidence[at] = _analyse_alone(before, thresholds, earlier_run)
    was = _costs(evidence[at], chain)
    is_now = _costs(_analyse_alone(after, thresholds, earlier_run), chain)
    seen = [node for node in effects if was[node] > 0] or [suspect.node]
    # A cost that only a comparison of ranks shows is 0 on one of them: the next of the chain counts.
    symptom = seen[0]
    uneased = list(takewhile(lambda node: was[node] - is_now[node] <= LEAST_PART * was[node], seen))
    times = None
    if cause.node in KINDS and cause.lost_by_kernel_us is not None:
        view = views(profile, earlier_run)[0][place]
        times = kernel_times_us(view, cause.lost_by_kernel_us)
    return FixTest(
        measured_us=None if times is None else times[0],
        modelled_us=None if times is None else times[1],
        factor=length / later_length,
        saved_us=length - later_length,
        symptom=symptom,
        share_before=was[symptom] / length if length > 0 else 0.0,
        share_after=is_now[symptom] / later_length,
        eased_us=0.0 if uneased or most <= 0 else was[symptom] - is_now[symptom],
        refuted=_edge_to(chain, uneased[-1]) if uneased else None,
    )


def _most_saved_us(profile: Profile, place: int, cause: SoftEvidence) -> float:
    """Time that repairing a loss of one rank alone can save: what the rank is busy for longer than its peers.

    Ranks meet in their collectives: one that waits there as long as the others gains nothing by coming
    earlier.
    """
    rank = profile.ranks[place]
    others = [item for item in profile.ranks if item is not rank and item.collectives and item.steps]
    if not others or not rank.collectives or cause.beyond_us is None:
        return float("inf")
    if cause.beyond_us < LOCAL_SHARE * cause.lost_us:
        return float("inf")
    mine, *theirs = (
        View(rank=item).total_us - sum(idle_us(c) for c in item.collectives) for item in (rank, *others)
    )
    return max(0.0, mine - min(theirs))


def _analyse_alone(rank: Rank, thresholds: Thresholds, earlier_run: Profile | None) -> EvidenceByNode:
    """Evidence of one rank without its peers, or beside an earlier run."""
    return analyse(Profile(path=rank.folder, ranks=(rank,)), thresholds, earlier_run)


def _costs(evidence: EvidenceByNode, nodes: tuple[str, ...]) -> dict[str, float]:
    """Cost of each node, microseconds; 0 where nothing shows it."""
    return {node: evidence[node].lost_us if node in evidence else 0.0 for node in nodes}


def _edge_to(chain: tuple[str, ...], effect: str) -> tuple[str, str] | None:
    """The edge of a chain into an effect; where one rank waits for a late one, the edge into the wait."""
    if effect == chain[-1]:
        return None
    if waits_for(chain) and chain.index(effect) < chain.index(WAITING):
        effect = WAITING
    return effect, chain[chain.index(effect) + 1]


LEAST_PART = 1e-6
"""Part of a cost below which a difference is rounding."""


def waits_for(chain: tuple[str, ...]) -> bool:
    """True if a chain says that one rank waits in a collective because another comes late."""
    return WAITING in chain and any(node in LATE for node in chain[chain.index(WAITING) :])


def weigh(suspect: LikelyCause, test: FixTest | None) -> LikelyCause:
    """The cause with the odds that its fix test leaves it."""
    if test is None or test.ratio >= 1:
        return suspect
    odds = test.ratio * suspect.chance / max(1 - suspect.chance, CERTAIN)
    return replace(suspect, chance=odds / (1 + odds))


CERTAIN = 1e-3
"""Least chance of "not the cause" before a test: no posterior is so sure that no test could shake it."""


def repair(profile: Profile, cause: SoftEvidence) -> Profile:
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
