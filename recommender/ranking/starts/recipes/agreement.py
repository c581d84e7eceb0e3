"""Agreement among recipes for problems like one: settings, their values, and how many set them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kg.nouns.recipe import Recipe, RecipeSetting
from kg.nouns.setting import SettingPlace
from kg.terms.purposes import Purpose, plain_key, purpose
from recommender.ranking.starts.recipes.resemblance import WeighedRecipe

LEAST_WEIGHT = 1e-4
"""Recipes that weigh less are not read; a choice, for speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedSetting:
    """A setting that some of the recipes have.

    Attributes:
        where: The place it is written in.
        key: As most of them write it.
        value: One value that some of them give it.
        share: Weight of the recipes that set the key, 0 to 1.
        value_share: Weight of those that set this very value.
        first: The nearest recipe that sets this value.
    """

    where: SettingPlace
    key: str
    value: str
    share: float
    value_share: float
    first: Recipe


def agreed_settings(weighed: Sequence[WeighedRecipe]) -> list[AgreedSetting]:
    """Settings that recipes tune, with the share that sets each value, most agreed first.

    Of a key that a recipe sets twice the last counts, as programs read it.

    Args:
        weighed: Recipes with weights, nearest first.
    """
    votes: dict[tuple[SettingPlace, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    firsts: dict[tuple[SettingPlace, str, str], tuple[Recipe, str]] = {}
    for one in weighed:
        if one.weight < LEAST_WEIGHT:
            continue
        for place, setting in _last_of_each(one.recipe.settings):
            if purpose(setting.key) is Purpose.TUNING:
                votes[place][setting.value] += one.weight
                firsts.setdefault((*place, setting.value), (one.recipe, setting.key))
    agreed = []
    for place, values in votes.items():
        for value, share in values.items():
            recipe, key = firsts[(*place, value)]
            agreed.append(
                AgreedSetting(
                    where=place[0],
                    key=key,
                    value=value,
                    share=min(sum(values.values()), 1.0),
                    value_share=share,
                    first=recipe,
                )
            )
    return sorted(agreed, key=lambda item: (-item.share, plain_key(item.key), -item.value_share, item.value))


def differences(recipe: Recipe, start_settings: Mapping[str, object]) -> dict[str, str]:
    """Settings that a recipe tunes and a start has otherwise or lacks, as the recipe writes them, by key.

    Args:
        recipe: The recipe.
        start_settings: Values of the start by the plain names of their keys.
    """
    found = {}
    for (_, plain), setting in _last_of_each(recipe.settings):
        if purpose(setting.key) is not Purpose.TUNING:
            continue
        if plain not in start_settings or _as_in_recipes(start_settings[plain]) != setting.value.lower():
            found[setting.key] = "" if setting.value == "true" else setting.value
    return found


def _as_in_recipes(value: object) -> str:
    """A value of a start as recipes write it: a flag without a value is true."""
    return "true" if value is None else str(value).lower()


def carrier(where: SettingPlace, key: str) -> str:
    """The key that settings are written together under: the flag of a JSON object, else their own key."""
    plain = plain_key(key)
    return plain.partition(".")[0] if where is SettingPlace.JSON else plain


def _last_of_each(settings: Sequence[RecipeSetting]) -> list[tuple[tuple[SettingPlace, str], RecipeSetting]]:
    last = {(item.where, plain_key(item.key)): item for item in settings}
    return list(last.items())
