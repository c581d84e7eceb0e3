"""Draft methods: how many tokens each had accepted, and in how many passes it drafts them.

``data/cost_model/drafts.csv`` has the share of drafts whose first, second, ... token was accepted. Beyond the
last measured position the share falls as between the last two.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from recommender.cost_model.facts.physics import PHYSICS, Floats, rows_of


@dataclass(frozen=True, slots=True)
class DraftMethod:
    """One way to draft.

    Attributes:
        accepted: Share of drafts of which so many tokens were accepted, from the first on.
        at_once: Whether one pass drafts all of them.
        blocks: Blocks of the network that drafts; 0 where texts are copied.
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
    word = "ngram" if word.startswith("ngram") else word
    return word if word in DRAFT_METHODS else "other"


def tokens_a_step(drafted: Floats, accepted: Floats, method: Floats, steps: Floats) -> Floats:
    """Tokens that a decode step gives a sequence: one, and those that are accepted.

    Args:
        drafted: Tokens drafted; 0 for none.
        accepted: Share of them, as engines report it; 0 where it is not stated: then what the method had.
        method: Number of the method.
        steps: Tokens in a row of a tree; 0 where all are. One of each place is accepted at most, and what a
            tree adds at a place is not measured: its rows have what a row alone has.
    """
    tokens = 1 + drafted * np.minimum(accepted, 1.0)
    for place, name in enumerate(DRAFT_METHODS):
        its = (accepted <= 0) & (method == place) & (drafted > 0)
        if np.any(its):
            kept = _kept(name, int(np.max(drafted[its])))
            row = in_a_row(drafted, steps)[its]
            at, rest = row.astype(np.int64), row % 1
            tokens[its] = kept[at] + rest * (kept[at + 1] - kept[at])
    return np.asarray(tokens)


def in_a_row(drafted: Floats, steps: Floats) -> Floats:
    """Tokens that a draft has behind one another: all, or as many as a tree is deep."""
    return np.where(steps > 0, np.minimum(drafted, steps), drafted)


def usual_share(method: str, drafted: int, steps: int = 0) -> float:
    """Share of its tokens that a draft had accepted; of a tree that is so many steps deep, of all."""
    row = min(drafted, steps) if steps else drafted
    return float(_kept(method, row)[row] - 1) / max(drafted, 1)


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


def passes(drafted: Floats, method: Floats, steps: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Passes of a draft, blocks of each, rows of a sequence that its head reads, tokens it chooses among."""
    at_once, blocks, vocabulary = (
        np.array([getattr(one, name) for one in DRAFT_METHODS.values()])[method.astype(np.int64)]
        for name in ("at_once", "blocks", "vocabulary")
    )
    times = np.where(at_once, np.minimum(drafted, 1.0) * (blocks > 0), in_a_row(drafted, steps))
    return times, blocks, np.where(at_once, drafted, 1.0), vocabulary
