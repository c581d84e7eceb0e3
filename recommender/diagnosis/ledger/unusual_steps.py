"""Steps that are longer than the others of their rank: warm-up, stalls."""

from dataclasses import dataclass, field

import numpy as np

from ingest.profiles.facts.kernels import Mask
from kg.nouns.codec import JsonNoun, in_json
from recommender.diagnosis.ledger.accounts import Account, RankLedger, RunLedger
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE

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
        course: How they lie over time: ``every 2nd``, ``since step 9``, ``growing``; empty if anyhow.
        excess_us: Time beyond the median, all of them together.
        share: That as a share of all steps.
        account: What grew most in them.
        account_us: What of the excess it is.
    """

    rank: int | None
    steps: tuple[str, ...]
    of: int
    is_warm_up: bool
    course: str = ""
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
    course, lies = _course(rank)
    if course:
        marked = lies
    if not marked.any() or marked.all():
        return None
    usual = np.median(rank.time_us[~marked], axis=0)
    more = (rank.time_us[marked] - usual).sum(axis=0)
    most = int(more.argmax())
    excess = float((length[marked] - np.median(length[~marked])).sum())
    return UnusualSteps(
        rank=rank.rank,
        steps=tuple(rank.steps[int(at)] for at in np.flatnonzero(marked)),
        of=len(length),
        is_warm_up=bool(marked[0]) and int(marked.sum()) == 1,
        course=course,
        excess_us=excess,
        share=excess / float(length.sum()),
        account=rank.accounts[most],
        account_us=float(more[most]),
    )


LEAST_OF_A_COURSE = 6
"""Steps from which on their course over time is looked at: two periods of three."""
MOST_PERIOD, MOST_SPLITS = 20, 200
"""Periods and moments of a change that are looked at."""
EXPLAINED = 0.8
"""Part of the variance of steps that a course explains, or it is none. Assumed: nearly all."""


def _course(rank: RankLedger) -> tuple[str, Mask]:
    """The course of the steps over time that explains most of their lengths, with the steps that are longer.

    A spread grows with a fault that comes in every second step, or grows: it hides what it is measured by.
    """
    length = rank.step_us
    n = len(length)
    at = np.arange(n)
    none = np.zeros(n, np.bool_)
    total = float(np.var(length)) * n
    if n < LEAST_OF_A_COURSE or total <= 0:
        return "", none
    courses = [
        (f"every {_ordinal(k)}", at % k == place)
        for k in range(2, min(n // 3, MOST_PERIOD) + 1)
        for place in range(k)
    ]
    splits = np.unique(np.linspace(2, n - 2, min(n - 3, MOST_SPLITS)).astype(np.int64))
    courses += [(f"since step {rank.steps[int(place)]}", at >= place) for place in splits]
    fits = []
    for name, mask in courses:
        more = float(length[mask].mean() - length[~mask].mean())
        rest = sum(float(np.var(length[part])) * int(part.sum()) for part in (mask, ~mask))
        fits.append((rest, more, name, mask))
    slope = float(np.median((length[n // 2 :] - length[: n - n // 2]) / (n // 2)))
    rest = float(np.var(length - slope * at)) * n
    fits.append((rest, slope * (n - 1) / 2, "growing", at >= n / 2))
    least = SIGNIFICANT_SHARE * float(np.median(length))
    held = [fit for fit in fits if fit[1] > least and fit[0] <= (1 - EXPLAINED) * total]
    _, _, name, mask = min(held, key=lambda fit: fit[0], default=(0.0, 0.0, "", none))
    return name, mask


ENDINGS = {2: "nd", 3: "rd"}


def _ordinal(number: int) -> str:
    return f"{number}{ENDINGS.get(number, 'th')}"
