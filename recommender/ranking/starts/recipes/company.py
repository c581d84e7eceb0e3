"""The company that settings keep in recipes: what is never set beside something is left out on purpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kg.terms.purposes import plain_key
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe

FEWEST_TO_TELL = 3
"""Recipes with a setting from which a companion that none sets counts as left out; a choice."""
COMMON = 0.25
"""Share of recipes from which a setting is common, so that never meeting it says much; a choice."""


@dataclass(frozen=True, slots=True)
class Company:
    """Sets of settings that recipes have together.

    Attributes:
        sets: Plain keys of each recipe.
    """

    sets: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, weighed: Sequence[WeighedRecipe]) -> Company:
        """The company in some recipes."""
        return cls(tuple(frozenset(plain_key(item.key) for item in one.recipe.settings) for one in weighed))

    def avoids(self, key: str, others: Iterable[str]) -> bool:
        """True if recipes that set ``key`` never set one of ``others``, though that is common.

        Args:
            key: A plain key.
            others: Plain keys of what is set already.
        """
        having = [keys for keys in self.sets if key in keys]
        return any(self._is_common(other) and not any(other in keys for keys in having) for other in others)

    def is_avoided(self, key: str, others: Iterable[str]) -> bool:
        """True if ``key``, though common, is never set beside one of ``others``."""
        if not self._is_common(key):
            return False
        return any(
            len(having) >= FEWEST_TO_TELL and not any(key in keys for keys in having)
            for having in ([keys for keys in self.sets if other in keys] for other in others)
        )

    def _is_common(self, key: str) -> bool:
        return sum(key in keys for keys in self.sets) >= COMMON * len(self.sets) > 0
