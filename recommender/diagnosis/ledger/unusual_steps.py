"""Steps that are longer than the others of their rank: warm-up, stalls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from kg.nouns.codec import JsonNoun, in_json
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE

if TYPE_CHECKING:
    from recommender.diagnosis.ledger.accounts import Account, RankLedger, RunLedger

LEAST_STEPS = 3
"""Steps from which on one can be called unusual."""
SPREADS = 3.0
"""Normal spreads beyond the median from which a step is unusual: three sigma."""
SIGMA = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusualSteps(JsonNoun):
    """Steps of one rank that take longer than its median step.

    Attributes:
        rank: Number of the rank; None if it has none.
        steps: Names of the steps, in order.
        of: How many steps the rank has.
        is_warm_up: The first step alone is one.
        excess_us: Time beyond the median, all of them together.
        share: That as a share of all steps.
        account: What grew most in them.
        account_us: What of the excess it is.
    """

    rank: int | None
    steps: tuple[str, ...]
    of: int
    is_warm_up: bool
    excess_us: float = field(metadata=in_json(digits=3))
    share: float = field(metadata=in_json(digits=4))
    account: Account = field(metadata=in_json(write=lambda account: account._asdict()))
    account_us: float = field(metadata=in_json(digits=3))


def unusual_steps(run: RunLedger) -> list[UnusualSteps]:
    """The unusual steps of each rank, the rank that loses most first."""
    found = [item for rank in run.ranks if (item := _of_rank(rank)) is not None]
    return sorted(found, key=lambda item: -item.excess_us)


def _of_rank(rank: RankLedger) -> UnusualSteps | None:
    length = rank.step_us
    if len(length) < LEAST_STEPS:
        return None
    middle = float(np.median(length))
    spread = SIGMA * float(np.median(np.abs(length - middle)))
    beyond = length - middle
    marked = beyond > max(SPREADS * spread, SIGNIFICANT_SHARE * middle)
    if not marked.any():
        return None
    usual = np.median(rank.time_us[~marked], axis=0)
    more = (rank.time_us[marked] - usual).sum(axis=0)
    most = int(more.argmax())
    excess = float(beyond[marked].sum())
    return UnusualSteps(
        rank=rank.rank,
        steps=tuple(rank.steps[int(at)] for at in np.flatnonzero(marked)),
        of=len(length),
        is_warm_up=bool(marked[0]) and int(marked.sum()) == 1,
        excess_us=excess,
        share=excess / float(length.sum()),
        account=rank.accounts[most],
        account_us=float(more[most]),
    )
