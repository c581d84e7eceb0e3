"""The variance of gains divided among hardware, model family and the context alone.

Fitted by the likelihood of all effects under the model of ``recommender.ranking.changes.posterior``, over a
grid of shares, with a prior that counts as much as a few strategies seen in several contexts: little evidence
leaves equal shares nearly as they are.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from kg.errors import WorkspaceError
from kg.nouns.effects import Effect
from kg.triples.hardware_tree import HardwareTree
from recommender.ranking.changes.posterior import (
    EQUAL,
    KIND_TRUST,
    Components,
    ObservedEffect,
    shared_variance,
)
from recommender.ranking.changes.prior import Prior, effect_state, evenly_spread

MOST_EFFECTS = 128
"""Effects of a strategy that are looked at, evenly over all: the likelihood of n takes a time of n cubed."""

STEPS = 6
"""The grid: shares are multiples of a sixth."""

STRENGTH = 2.0
"""Weight of the prior towards equal shares, a Dirichlet density with parameters 1 + this / 3: a choice."""


def fit_components(effects: Iterable[Effect], tree: HardwareTree) -> Components:
    """Fit the shares to the effects of strategies seen in several contexts, by likelihood."""
    groups: dict[tuple[str, str], list[ObservedEffect]] = {}
    kept = []
    for effect in effects:
        state = effect_state(effect)
        trust = min(effect.trust.weight, 1.0) * KIND_TRUST.get(effect.kind, 0.0)
        if state is None or trust <= 0:
            continue
        kept.append(effect)
        groups.setdefault((effect.strategy, effect.metric), []).append(
            ObservedEffect(context=effect.context, mean=state.mean, n=state.n, trust=trust)
        )
    several = [
        evenly_spread(group, MOST_EFFECTS)
        for group in groups.values()
        if len({item.context for item in group}) > 1
    ]
    if not several:
        return EQUAL
    prior = Prior.of(kept)
    grid = [
        Components(hardware=i / STEPS, family=j / STEPS, own=(STEPS - i - j) / STEPS)
        for i in range(STEPS + 1)
        for j in range(STEPS + 1 - i)
    ]
    return max(grid, key=lambda shares: (_likelihood(several, prior, shares, tree), shares.own))


def load(path: Path) -> Components:
    """Load the shares of a workspace; equal ones where none were fitted.

    Raises:
        WorkspaceError: The file is damaged.
    """
    try:
        raw: Mapping[str, float] = json.loads(path.read_text(encoding="utf-8"))
        return Components(hardware=raw["hardware"], family=raw["family"], own=raw["own"])
    except FileNotFoundError:
        return EQUAL
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise WorkspaceError(
            f"{path} is damaged: {fault}", hint="delete it: tunegraph evolve makes it"
        ) from None


def _likelihood(
    groups: Sequence[Sequence[ObservedEffect]], prior: Prior, shares: Components, tree: HardwareTree
) -> float:
    strategy, between, noise = prior.between_strategies**2, prior.between_contexts**2, prior.noise**2
    total = sum(
        STRENGTH / 3 * math.log(max(share, 1 / (2 * STEPS)))
        for share in (shares.hardware, shares.family, shares.own)
    )
    for group in groups:
        places = [item.context for item in group]
        gram = strategy + between * shared_variance(places, tree.distance, shares)
        spread = [
            noise / item.n + (1 / item.trust - 1) * (strategy + between + noise / item.n) + 1e-12
            for item in group
        ]
        covariance = gram + np.diag(spread)
        off = np.array([item.mean for item in group]) - prior.mean
        _, determinant = np.linalg.slogdet(covariance)
        total -= 0.5 * (float(off @ np.linalg.solve(covariance, off)) + float(determinant))
    return total
