"""Settings of a strategy in the release that a question names: taken, gone, not there yet, or the default."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.setting import SettingPlace
from kg.terms.conditions import HOLDS, Judgement, Truth

if TYPE_CHECKING:
    from kg.nouns.knowledge import Assignment, Strategy
    from kg.terms.conditions import Facts
    from kg.terms.setting_registry import ReleaseSettings

IN_REGISTRY = frozenset({SettingPlace.FLAG, SettingPlace.ENV, SettingPlace.JSON})
"""Places whose settings a registry of a release lists; code is not searched."""


def judge_release(strategy: Strategy, facts: Facts) -> Judgement:
    """Judge whether the releases in use take the settings of a strategy, and not as their defaults.

    A strategy fails where a release in use has lost one of its settings or does not have it yet, and where
    all that it sets is what the release does without being told. Software without a registry decides nothing.

    Args:
        strategy: What.
        facts: Of the question; ``software[NAME]`` is a release.
    """
    settings = [item for item in strategy.sets if item.place in IN_REGISTRY]
    for release in _releases(facts):
        defaults = []
        for item in settings:
            look_up = release.look_up(setting_key(item), item.place, suggest=False)
            if look_up.setting is None:
                continue
            if not look_up.usable:
                return Judgement(truth=Truth.FAILS, because=str(look_up))
            defaults.append(look_up.is_default(item.value))
        if settings and len(defaults) == len(strategy.sets) and all(defaults):
            name = f"{release.registry.software} {release.release}"
            return Judgement(truth=Truth.FAILS, because=f"it is the default of {name}")
    return HOLDS


def setting_key(item: Assignment) -> str:
    """The spelling that a registry looks up: a flag, a variable, or the path of a field."""
    if item.place is SettingPlace.JSON:
        return f"{item.carrier.lstrip('-')}.{item.parameter}"
    return item.flag or item.parameter


def _releases(facts: Facts) -> list[ReleaseSettings]:
    """The releases that a question names, of software that a registry lists."""
    from kg.errors import UnknownEntityError
    from kg.terms.setting_registry import registry, softwares

    releases = []
    for key, version in facts.items():
        if not key.startswith("software["):
            continue
        name = key.removeprefix("software[").removesuffix("]")
        if name in softwares():
            try:
                releases.append(registry(name).at(str(version)))
            except UnknownEntityError:
                continue  # no release of that name: nothing is known of it
    return releases
