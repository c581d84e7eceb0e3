"""Draft methods: how many tokens each had accepted, and in how many passes it drafts them.

``data/cost_model/drafts.csv`` has the share of drafts whose first, second, ... token was accepted. Beyond the
last measured position the share falls as between the last two.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from recommender.cost_model.facts.physics import PHYSICS, rows_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DraftMethod:
    """One way to draft.

    Attributes:
        accepted: Share of drafts of which so many tokens were accepted, from the first on.
        at_once: Whether one pass drafts all of them.
        blocks: Blocks of the network that drafts.
        vocabulary: Tokens that its head chooses among; infinite where these are all of the model's.
    """

    accepted: tuple[float, ...]
    at_once: bool = False
    blocks: float = 1.0
    vocabulary: float = np.inf


DRAFT_METHODS = {
    row["method"]: DraftMethod(
        tuple(map(float, row["accepted"].split())),
        row["at_once"] == "1",
        float(row["blocks"]),
        float(row["vocabulary"] or np.inf),
    )
    for row in rows_of("drafts")
}
"""By the name that engines give them."""


def method_of(text: str) -> str:
    """The method that a program's word means: ``"other"`` if none is known."""
    word = text.lower().replace("-", "")
    if word.endswith("mtp") or word == "nextn":
        return "mtp"
    return word if word in DRAFT_METHODS else "other"


def tokens_a_step(drafted: Floats, accepted: Floats, method: Floats) -> Floats:
    """Tokens that a decode step gives a sequence: one, and those that are accepted.

    Args:
        drafted: Tokens drafted; 0 for none.
        accepted: Share of them, as engines report it; 0 where it is not stated: then what the method had.
        method: Number of the method.
    """
    tokens = 1 + drafted * np.minimum(accepted, 1.0)
    for place, name in enumerate(DRAFT_METHODS):
        its = (accepted <= 0) & (method == place) & (drafted > 0)
        if np.any(its):
            kept = _kept(name, int(np.max(drafted[its])))
            at, rest = drafted[its].astype(np.int64), drafted[its] % 1
            tokens[its] = kept[at] + rest * (kept[at + 1] - kept[at])
    return np.asarray(tokens)


def usual_share(method: str, drafted: int) -> float:
    """Share of its tokens that a draft had accepted."""
    return float(_kept(method, drafted)[drafted] - 1) / max(drafted, 1)


@cache
def _kept(name: str, most: int) -> Floats:
    """Tokens of a step by the number of drafted ones, from none up to one more than ``most``."""
    shares = list(DRAFT_METHODS[name].accepted) or [
        PHYSICS["draft_acceptance"],
        PHYSICS["draft_acceptance"] ** 2,
    ]
    while len(shares) <= most:
        shares.append(shares[-1] * min(shares[-1] / shares[-2], 1.0))
    return np.concatenate([[1.0], 1.0 + np.cumsum(shares)])


def passes(drafted: Floats, method: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Passes of a draft, blocks of each, rows of a sequence that its head reads, tokens it chooses among."""
    at_once, blocks, vocabulary = (
        np.array([getattr(one, name) for one in DRAFT_METHODS.values()])[method.astype(np.int64)]
        for name in ("at_once", "blocks", "vocabulary")
    )
    times = np.where(at_once, np.minimum(drafted, 1.0), drafted)
    return times, blocks, np.where(at_once, drafted, 1.0), vocabulary
