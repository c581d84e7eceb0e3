"""Learns the weights of the experts from questions whose truth is known, drawn to plain copying.

A situation's first place gets the weights of a coarse grid whose loss is lowest after a standard error is
added: the error, over groups of a collection on a device, of how much they beat copying. Where no weights
beat copying by more than that error, it copies. Given the first place so filled, the second is chosen
alike, then the later ones.

What a question's candidates cost is computed once; the whole grid, with any group left out, then takes
seconds.

Source:
    Shrinkage to one expert by its confidence bound is the one-standard-error rule of Breiman, Friedman,
    Olshen and Stone (1984), Classification and Regression Trees, section 3.4.3, with copying as the
    simplest model.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recommender.calibration.mixture import COPYING, EXPERTS, PLACES, EvidenceClass, Weights

STEPS = {"popular": (0.0, 0.1, 0.3, 1.0), "modelled": (0.0, 0.3, 1.0, 3.0), "untried": (0.0, 0.3, 1.0, 3.0)}
"""Weights that are tried: coarse, so that what one group likes is not found."""

GRID = np.array(list(itertools.product(*(STEPS[name] for name in EXPERTS))))

WITHIN = math.log(1.05)
"""A configuration within 5 % of the best is right."""

MOST_REGRET = 1.5
"""Log regret beyond which, as for what was not measured, all is equally bad (a factor of 4.5)."""

LEAST_GROUPS = 3
"""Groups below which no spread over them can be told: then it copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuestion:
    """A question with the opinions on its candidates and the truth.

    Attributes:
        corpus: Collection that it is of.
        operator: What was asked about.
        device: Hardware that it is asked for.
        vendor: Its vendor.
        situation: What decides how far copying is to be trusted.
        opinions: Of the nearest case and of the experts, shape (1 + E, n).
        truth: True log regret of the candidates, infinite for what was not measured, shape (n,).
    """

    corpus: str
    operator: str
    device: str
    vendor: str
    situation: EvidenceClass
    opinions: NDArray[np.float32]
    truth: NDArray[np.float64]


class MixtureFit:
    """Fits weights to questions, to all or with some left out.

    Args:
        questions: What is learned from.
    """

    def __init__(self, questions: Sequence[OpenQuestion]) -> None:
        self.questions = list(questions)
        places: dict[EvidenceClass, list[int]] = defaultdict(list)
        for place, question in enumerate(questions):
            places[question.situation].append(place)
        self._cells = {
            situation: (np.array(mine), _Cell([questions[place] for place in mine]))
            for situation, mine in places.items()
        }

    def weights(
        self, without: Callable[[OpenQuestion], bool] = lambda _: False
    ) -> dict[EvidenceClass, Weights]:
        """Return the weights by situation.

        Args:
            without: Whether a question is left out.
        """
        known = np.array([not without(question) for question in self.questions], np.bool_)
        return {situation: cell.weights(known[mine]) for situation, (mine, cell) in self._cells.items()}


class _Cell:
    """The questions of one situation, padded to few sizes; what a chain of weights picks is kept."""

    def __init__(self, questions: Sequence[OpenQuestion]) -> None:
        names = [(item.corpus, item.device) for item in questions]
        self._group = np.unique([f"{one}\n{other}" for one, other in names], return_inverse=True)[1]
        self._blocks: list[tuple[NDArray[np.intp], NDArray[np.float32], NDArray[np.float64]]] = []
        sizes: dict[int, list[int]] = defaultdict(list)
        for place, item in enumerate(questions):
            sizes[1 << max(0, len(item.truth) - 1).bit_length()].append(place)
        for width, mine in sizes.items():
            costs = np.full((len(mine), 1 + len(EXPERTS), width), 1e6, np.float32)
            truths = np.full((len(mine), width), np.inf)
            for row, place in enumerate(mine):
                n = len(questions[place].truth)
                costs[row, :, :n], truths[row, :n] = questions[place].opinions, questions[place].truth
            self._blocks.append((np.array(mine), costs, truths))
        self._count = len(questions)
        self._losses: dict[tuple[int, ...], tuple[NDArray[np.float64], NDArray[np.intp]]] = {}

    def weights(self, known: NDArray[np.bool_]) -> Weights:
        """Return the weights by place, learned from the questions that are ``known``."""
        chain: tuple[int, ...] = ()
        for _ in range(PLACES):
            chain += (_bound_choice(self._tried(chain)[0][:, known], self._group[known]),)
        return tuple(tuple(GRID[at].tolist()) for at in chain)

    def _tried(self, chain: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return losses after one more pick, and the picks, by the weights of the grid, shape (G, n) each."""
        if chain not in self._losses:
            before = [self._tried(chain[:at])[1][choice] for at, choice in enumerate(chain)]
            regrets = np.full((len(GRID), self._count), np.inf)
            picks = np.zeros((len(GRID), self._count), np.intp)
            for mine, costs, truths in self._blocks:
                rows = np.arange(len(mine))
                reached = np.full(len(mine), np.inf)
                for earlier in before:
                    reached = np.minimum(reached, truths[rows, earlier[mine]])
                for at, weights in enumerate(GRID.astype(np.float32)):
                    scores = costs[:, 0] + np.tensordot(weights, costs[:, 1:], (0, 1))
                    for earlier in before:
                        scores[rows, earlier[mine]] = np.inf
                    picks[at, mine] = scores.argmin(axis=1)
                    regrets[at, mine] = np.minimum(reached, truths[rows, picks[at, mine]])
            self._losses[chain] = (_loss(regrets), picks)
        return self._losses[chain]


def _loss(regrets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half a miss of the best within 5 %, half the log regret, 0 to 1."""
    return 0.5 * (regrets >= WITHIN) + 0.5 * np.minimum(regrets, MOST_REGRET) / MOST_REGRET


def _bound_choice(losses: NDArray[np.float64], group: NDArray[np.intp]) -> int:
    """Return the place in the grid of the weights that surely beat copying by most; copying where none does.

    Args:
        losses: Shape (G, n).
        group: Of each question, shape (n,); a group counts as the square root of its size.
    """
    copying = int(np.flatnonzero((np.array(COPYING[0]) == GRID).all(axis=1))[0])
    _, block, size = np.unique(group, return_inverse=True, return_counts=True)
    if len(size) < LEAST_GROUPS:
        return copying
    means = np.zeros((len(losses), len(size)))
    np.add.at(means.T, block, (losses - losses[copying]).T)
    means /= size
    share = np.sqrt(size) / np.sqrt(size).sum()
    worse = means @ share
    error = np.sqrt(((means - worse[:, None]) ** 2 * share**2).sum(axis=1) * len(size) / (len(size) - 1))
    bound = np.round(worse + error, 6)
    best = int(np.lexsort((GRID.sum(axis=1), bound))[0])
    return best if bound[best] < 0 else copying
