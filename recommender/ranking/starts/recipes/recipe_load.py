"""How many requests at once a recipe is for: few for each device is a recipe for short times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.terms.purposes import plain_key

if TYPE_CHECKING:
    from kg.nouns.recipe import Recipe

AT_ONCE_OF_AN_ENGINE = frozenset({"max_num_seqs"})
AT_ONCE = frozenset({"max_running_requests"})


def recipe_load(recipe: Recipe) -> float | None:
    """Requests at once that a recipe lets in on all its devices, else was timed with; None if unsaid."""
    for item in recipe.settings:
        plain = plain_key(item.key)
        if plain in AT_ONCE | AT_ONCE_OF_AN_ENGINE and item.value.isdigit():
            engines = recipe.layout.get("dp", 1) if plain in AT_ONCE_OF_AN_ENGINE else 1
            return float(item.value) * float(str(engines)) * recipe.instances
    stated = recipe.context.get("concurrency")
    return float(stated) if isinstance(stated, int | float) else None


def is_for_latency(recipe: Recipe) -> bool:
    """Whether a recipe lets in fewer requests than it has devices."""
    load = recipe_load(recipe)
    return load is not None and load < recipe.devices
