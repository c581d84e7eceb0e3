"""Recipes of a program whose blocks another runs under fields of its own, in the words of that other."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

from kg.nouns.recipe import Authority, Recipe, RecipeSetting
from kg.nouns.setting import Setting, SettingPlace
from kg.nouns.values import Settings, show
from kg.terms.dialects import spell
from kg.terms.meanings import meaning_of, settings_of, table
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import registry

FIELDS = frozenset({SettingPlace.YAML, SettingPlace.JSON})


def kin_of(program: str) -> tuple[str, ...]:
    """The programs whose flags the fields of a program are named after."""
    return tuple(table("meanings")["programs"].get(program, {}).get("kin", ()))


def in_words_of(program: str, recipes: Iterable[Recipe]) -> Iterator[Recipe]:
    """Recipes as another program is told them; what that has no word for is left out, and how they divide.

    What else a program does with its devices differs: with the layouts of its kin fewer starts are as its
    own recipes have them (``benchmarks.answers.recipes``), with their settings more.
    """
    for recipe in recipes:
        if recipe.framework == program:
            yield recipe
        elif settings := tuple(_spelt(program, recipe)):
            told = replace(recipe, framework=program, layout=Settings(), settings=settings)
            yield replace(told, authority=Authority.THIRD_PARTY)


def _spelt(program: str, recipe: Recipe) -> Iterator[RecipeSetting]:
    for item in recipe.settings:
        if item.where is SettingPlace.ENV:
            yield item
            continue
        meaning = meaning_of(item.key, recipe.framework)
        said = meaning.says(item.value) if meaning is not None and meaning.reads(item.value) else None
        found = spell(meaning.fact, program, "", said) if meaning is not None and said is not None else None
        if found is not None:
            yield RecipeSetting(where=found[0].place, key=found[0].key, value=show(found[1]))
        elif (field := _fields(program).get(plain_key(item.key))) is not None:
            yield RecipeSetting(where=SettingPlace.YAML, key=field, value=item.value)


@cache
def _fields(program: str) -> dict[str, str]:
    """The fields of a program by the flags that they are named after, of several the one beside most."""
    flags = {plain_key(one.key) for name in kin_of(program) for one in _settings_of(name)}
    keys = [one.key for one in registry(program).settings if one.place in FIELDS]
    told = Counter(one.key.rpartition(".")[0] for one in settings_of(program))
    ordered = sorted(keys, key=lambda key: told[key.rpartition(".")[0]])
    return {name: key for key in ordered if (name := key.rpartition(".")[2]) in flags}


def _settings_of(program: str) -> Iterator[Setting]:
    """The settings of a program, and of those beneath it."""
    return (item for layer in registry(program).at().layers() for item in layer.registry.settings)
