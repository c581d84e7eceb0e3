"""The load that a recipe is meant for: few requests a device is a recipe for short times."""

from kg.nouns.recipe import Recipe
from kg.terms.meanings import meaning_of

AT_ONCE = "batch"
"""Fact of a setting that limits the requests at once, of an engine or of all of them."""


def recipe_load(recipe: Recipe) -> float | None:
    """Requests at once that a recipe lets in on all its devices, else was timed with; None if unsaid."""
    for item in recipe.settings:
        meaning = meaning_of(item.key)
        if meaning is not None and meaning.fact == AT_ONCE and item.value.isdigit():
            engines = 1 if meaning.over else recipe.layout.get("dp", 1)
            return float(item.value) * float(str(engines)) * recipe.instances
    stated = recipe.context.get("concurrency")
    return float(stated) if isinstance(stated, int | float) else None


def is_for_latency(recipe: Recipe) -> bool:
    """True if a recipe lets in fewer requests than it has devices."""
    load = recipe_load(recipe)
    return load is not None and load < recipe.devices


def is_load_of(recipe: Recipe, model: str, device: str) -> bool:
    """True if what a recipe lets in is a load of this model or very device, and not for short times."""
    return (recipe.model == model or recipe.hardware == device) and not is_for_latency(recipe)
