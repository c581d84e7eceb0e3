"""Share of recipes, by weight, that do what a strategy does."""

import re
from collections.abc import Mapping

from kg.nouns.knowledge import Assignment, Strategy
from kg.nouns.values import show
from kg.terms.purposes import plain_key
from recommender.ranking.starts.screening import WITHOUT_PREFIXES
from recommender.ranking.starts.starts import Starts

_PRECISION = "precision"
_WIDTHS = re.compile(r"\bw\d+a\d+\b")


def recipe_shares(starts: Starts) -> dict[tuple[str, str], float]:
    """Weight of the recipes that set a parameter to a value, by both; a key is known by its last part.

    What recipes set because they are timed on random prompts is no agreement.
    """
    found: dict[tuple[str, str], float] = {}
    for one in starts.recipes:
        keys = {(plain_key(item.key).rpartition(".")[2], item.value.lower()) for item in one.recipe.settings}
        keys -= {(key, "true") for key in WITHOUT_PREFIXES}
        keys.add((_PRECISION, one.recipe.precision.lower()))
        for key in keys:
            found[key] = found.get(key, 0.0) + one.weight
    return found


def share_of(strategy: Strategy, shares: Mapping[tuple[str, str], float]) -> float:
    """Weight of the recipes that set all that a strategy sets, or have the widths that it names."""
    if not strategy.sets:
        return 0.0
    set_so = min(shares.get(_assignment(one), 0.0) for one in strategy.sets)
    names = " ".join([strategy.id, strategy.label, *strategy.aliases]).lower()
    widths = [shares.get((_PRECISION, width), 0.0) for width in set(_WIDTHS.findall(names))]
    return max(widths) if widths else set_so


def _assignment(one: Assignment) -> tuple[str, str]:
    value = "true" if one.value is None else show(one.value).lower()
    return plain_key(one.parameter).rpartition(".")[2], value
