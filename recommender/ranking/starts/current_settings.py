"""What runs now in a start: settings of the current launch in place of what recipes say."""

from collections.abc import Sequence
from dataclasses import replace

from kg.nouns.setting import SettingPlace
from kg.nouns.values import Value
from kg.terms.dialects import spelling_in, statement
from kg.terms.meanings import divides, meaning_of, own_names, programs, settings_of
from kg.terms.purposes import Purpose, plain_key, purpose
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.starts.assumed import untold
from recommender.ranking.starts.flags.layout_flags import spelt_settings
from recommender.ranking.starts.screening import Screen
from recommender.ranking.starts.situation import StartSituation


def in_place_of(settings: Sequence[PlanSetting], others: Sequence[PlanSetting]) -> list[PlanSetting]:
    """The settings with some others in place of those for the same."""
    taken = {(item.where, plain_key(item.key)) for item in others}
    return [*(item for item in settings if (item.where, plain_key(item.key)) not in taken), *others]


def with_current(
    settings: list[PlanSetting], situation: StartSituation, screen: Screen, *, is_divided: bool
) -> list[PlanSetting]:
    """The settings with what runs now in place of what recipes say, and all else that runs now.

    Args:
        settings: Of the start.
        situation: Knows what runs now.
        screen: Knows where settings are written.
        is_divided: Whether the layout that runs now gave way to another.
    """
    current = {
        name: value
        for name, value in (situation.current or {}).items()
        if not (is_divided and purpose(name) is Purpose.LAYOUT)
    }
    if not current:
        return settings
    program = situation.framework.id
    staying = {name: current.pop(name) for name in list(current) if situation.stays(name)}
    facts = statement({**current, **staying}, program).facts.keys()
    names = {plain_key(spelling_in(program, name)) for name in current}
    settings = [
        one
        for one in settings
        if plain_key(spelling_in(program, one.key)) in names
        or facts.isdisjoint(statement({one.name: one.value}, program).facts)
    ]
    dialect = settings_of(program) if program in programs() else ()
    configured = next((one.file for one in dialect if one.place is SettingPlace.JSON), "")
    held = {plain_key(spelling_in(program, name)): (name, value) for name, value in current.items()}
    places = {plain_key(situation.script_key(name)): plain for plain, (name, _) in held.items()}
    found = []
    for item in settings:
        plain = plain_key(item.key)
        short = plain.rpartition(".")[2] if item.where is SettingPlace.JSON else plain
        names = {plain_key(spelling_in(program, item.key)), short, places.get(plain, short)} & set(held)
        if names:
            _, value = held.pop(names.pop())
            found.append(replace(item, value=value, origin=Origin.CURRENT, source="", agreement=None))
        else:
            found.append(item)
    for name, value in held.values():
        if _is_ours(name, situation, screen):
            spelled = _in_words_of(program, name, value, situation.framework.version)
            found = in_place_of(found, spelled)
            continue
        is_written = not divides(name) or bool(situation.script_key(name))
        place, key = screen.place_of(name if is_written else spelling_in(program, name))
        is_off = key.startswith("--no-") and value is False  # a flag of its own, unknown to the release
        file = configured if place is SettingPlace.JSON else ""
        shown = True if is_off else value
        found.append(PlanSetting(where=place, key=key, file=file, value=shown, origin=Origin.CURRENT))
    return found


def _is_ours(name: str, situation: StartSituation, screen: Screen) -> bool:
    """True if a current setting has our name, which neither the script nor the release knows."""
    if name not in own_names() or situation.script_key(name):
        return False
    meaning = meaning_of(name, situation.framework.id)
    if meaning is not None and meaning in settings_of(situation.framework.id) and meaning.key == name:
        return False  # the program's own name is the same
    release = screen.release()
    return release is None or release.look_up(name, suggest=False).setting is None


def _in_words_of(program: str, name: str, value: Value, release: str) -> list[PlanSetting]:
    """A current setting under our name, in the spelling of the program.

    Raises:
        InputError: It has no setting for that.
    """
    meaning = meaning_of(name)
    if meaning is None:
        return []
    said = {meaning.fact: meaning.says(value)} if meaning.reads(value) else {}
    if not (found := spelt_settings(said, program, release, Origin.CURRENT)):
        raise untold(program, name, value, meaning.fact)
    return [
        replace(one, value=int(one.value))  # programs read numbers there
        if one.where is SettingPlace.ENV and isinstance(one.value, bool)
        else one
        for one in found
    ]
