"""Starts as their release takes them: what it removed is translated, what it would refuse does not leave."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ingest.questions.launches.shell import read_script
from kg.nouns.look_up import LookUp, Standing
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, Value, parse_json, show
from kg.terms.meanings import meaning_of, plain_name
from kg.terms.purposes import Purpose, purpose
from kg.terms.setting_conflicts import broken_conflicts, cure
from kg.terms.setting_registry import ReleaseSettings
from kg.terms.successors import as_object, successors
from recommender.ranking.paste import COMMANDS, carrying_flag, flag_objects, pasted, value_words
from recommender.ranking.plan_setting import FIELDS, Origin, PlanSetting, settings_by_key
from recommender.ranking.start import StartConfiguration
from recommender.ranking.starts.situation import StartSituation

_TO_FILL = re.compile(r"[A-Z][A-Z_]+")
"""A value that the user fills in, such as ``SERVER_RANK``."""
ROUNDS = 3
"""Times that conflicts are looked for: what is left out may be what another setting needs; a choice."""
_OF_OTHERS = re.compile(r"is unset|\bnot -")
"""In a conflict: what is missing."""
_BELOW = re.compile(r"(--[\w-]+) < (--[\w-]+)")


def in_release(
    situation: StartSituation, release: ReleaseSettings | None
) -> tuple[StartSituation, list[str]]:
    """The situation with what runs now in the settings of its release, and what is said of the others."""
    current = situation.current
    if release is None or not current:
        return situation, []
    now: dict[str, Value] = {}
    said: list[str] = []
    for name, value in current.items():
        written = situation.script_key(name)
        found = release.look_up(written or name, suggest=False)
        if found.standing is not Standing.REMOVED or found.setting is None:
            content = as_object(value, found)
            now[name] = value if content is None else content
            said += [] if content is None else [f"{name} is an object in {found.release}: {content}"]
            continue
        after = successors(release, found, value)
        now |= after or {}
        gone = f"{name}, which {found.setting.software} removed in {found.setting.removed}"
        said.append(f"{gone}, is {f'now {_told(after)}' if after else 'left out'}")
    if not said:
        return situation, []
    return replace(situation, problem=replace(situation.problem, current=Settings(now))), said


def launchable(
    start: StartConfiguration, release: ReleaseSettings | None
) -> tuple[StartConfiguration, list[str]]:
    """The start without what its release would refuse, and what is said of that.

    What the user's own script sets stays as long as the release is not known to refuse it. Flags and fields
    are looked up by name, place, type and choice; settings that exclude each other give way to those of the
    script. The rest is read back from the text that is printed.
    """
    kept = list(start.settings)
    said: list[str] = []
    if release is not None:
        kept, said = _taken(kept, release, start.framework)
        for _ in range(ROUNDS):
            before = kept
            kept, more = _without_conflicts(kept, release, start.framework)
            said += [text for text in more if text not in said]
            if kept == before:
                break
    for item in _unread(kept, start.framework):
        kept.remove(item)
        said.append(f"{item.key} is left out: its value cannot be written in a command")
    return (start if kept == list(start.settings) else replace(start, settings=tuple(kept))), said


def _taken(
    settings: Sequence[PlanSetting], release: ReleaseSettings, framework: str
) -> tuple[list[PlanSetting], list[str]]:
    kept: list[PlanSetting] = []
    said: list[str] = []
    for item in settings:
        place = None if item.where in FIELDS else item.where
        found = release.look_up(item.key, place, suggest=False)
        why = _refused(item, found)
        if framework in COMMANDS and item.origin is not Origin.CURRENT:
            why = why or _unwritable(item, found, release)
        if why:
            said.append(f"{item.key} is left out: {why}")
        else:
            kept.append(item)
    return kept, said


def _refused(item: PlanSetting, answer: LookUp) -> str:
    """The reason that a release does not accept a setting; empty where it does, or where that is unknown."""
    if answer.standing in {Standing.REMOVED, Standing.NOT_YET}:
        return str(answer)
    setting = answer.setting
    if setting is None or answer.standing is not Standing.TAKEN or item.where is SettingPlace.ENV:
        return ""
    if item.value is None and item.where is SettingPlace.FLAG and setting.type != "bool":
        return "it has no value"
    if item.value is None or (item.value is True and setting.type != "bool"):
        return ""  # a flag that may stand without a value
    if _TO_FILL.fullmatch(str(item.value)):
        return ""
    value = " ".join(map(str, item.value)) if isinstance(item.value, tuple) else item.value
    return "" if setting.accepts(value) else f"the release does not take {value}"


def _unwritable(item: PlanSetting, answer: LookUp, release: ReleaseSettings) -> str:
    """The reason that a server's command cannot hold a setting of ours; empty where it can."""
    if item.where is SettingPlace.JSON and not item.file and answer.standing is Standing.UNKNOWN:
        answer = release.look_up(carrying_flag(item), SettingPlace.FLAG, suggest=False)
    if item.where in {SettingPlace.FLAG, SettingPlace.JSON} and answer.standing is Standing.UNKNOWN:
        return f"{release.registry.software} {answer.release} has none of that name"
    is_off = item.where is SettingPlace.FLAG and show(item.value).lower() == "false" and not item.negation
    if is_off and answer.setting is not None and answer.setting.type == "bool":
        return "it has no flag that switches it off"
    return ""


def _without_conflicts(
    settings: Sequence[PlanSetting], release: ReleaseSettings, framework: str
) -> tuple[list[PlanSetting], list[str]]:
    """The settings without those that the release excludes: those of the user's own script stay."""
    kept, said = list(settings), []
    is_whole = framework in COMMANDS
    for conflict in broken_conflicts(release, {item.key: item.value for item in kept}):
        words = {plain_name(word) for word in conflict.split()}
        own = [item for item in kept if plain_name(item.key) in words and item.origin is not Origin.CURRENT]
        own.sort(key=lambda item: not _is_decided(item.key))
        is_broken = conflict in broken_conflicts(release, {item.key: item.value for item in kept})
        if not is_whole and _OF_OTHERS.search(conflict):
            # the script that these flags go into may set what is missing, but for layout and format
            needed = cure(conflict, release) if is_broken and own else None
            if needed is None:
                continue
            if _is_decided(own[-1].key):
                kept += settings_by_key(dict([needed]), Origin.KNOWLEDGE)
            elif _is_decided(needed[0]) or _breaks(needed, kept, release):
                kept.remove(own[-1])
                said.append(f"{own[-1].key} is left out: this release refuses {conflict}")
            elif needed[1] is True:
                said.append(f"{own[-1].key} needs {needed[0]}, which the script has to set")
            continue
        if is_broken and (raised := _raised(kept, conflict)) is not None:
            kept = [item for item in kept if item.key != raised.key] + [raised]
        elif own and is_broken:
            kept.remove(own[-1])
            said.append(f"{own[-1].key} is left out: this release refuses {conflict}")
        elif is_broken and any(plain_name(item.key) in words for item in kept):
            said.append(f"your script sets what this release refuses: {conflict}")
    return kept, said


def _is_decided(key: str) -> bool:
    """True if a setting is a size of the layout or the number format: the rest gives way to these."""
    meaning = meaning_of(key)
    return purpose(key) is Purpose.LAYOUT or (meaning is not None and meaning.fact == "precision")


def _breaks(needed: tuple[str, Value], settings: Sequence[PlanSetting], release: ReleaseSettings) -> bool:
    """True if the release refuses a needed setting beside the others."""
    now = {item.key: item.value for item in settings}
    before = broken_conflicts(release, now)
    return any(one not in before for one in broken_conflicts(release, {**now, needed[0]: needed[1]}))


def _raised(settings: Sequence[PlanSetting], conflict: str) -> PlanSetting | None:
    """A size of ours that may not be below another, raised to it; None where the conflict is another."""
    match = _BELOW.fullmatch(conflict)
    if match is None:
        return None
    here = {item.key: item for item in settings}
    low, high = here.get(match[1]), here.get(match[2])
    if high is None or not isinstance(high.value, int) or (low and low.origin is Origin.CURRENT):
        return None
    return replace(low or replace(high, key=match[1], origin=Origin.KNOWLEDGE, source=""), value=high.value)


def _unread(settings: Sequence[PlanSetting], framework: str) -> list[PlanSetting]:
    """The settings of a command that its printed text does not give back, word by word."""
    command = [item for item in settings if item.where not in FIELDS and not item.file]
    text = "\n".join((*pasted(command, framework), "true"))
    read = read_script(text).commands
    words = [word for one in read[:-1] for word in one.words]
    objects = flag_objects(command)
    lost = []
    for item in command:
        if item.where is SettingPlace.ENV:
            is_there = read[-1].environment.get(item.key) == show(item.value)
        elif (carrier := carrying_flag(item)) in objects:
            is_there = any(
                word == carrier and parse_json(value) == objects[carrier] for word, value in pairwise(words)
            )
        else:
            is_off = bool(item.negation) and show(item.value).lower() == "false"
            wanted = [item.negation] if is_off else [item.key, *value_words(item)]
            places = range(len(words) - len(wanted) + 1)
            is_there = any(words[at : at + len(wanted)] == wanted for at in places)
        if not is_there:
            lost.append(item)
    return lost


def _told(settings: object) -> str:
    items = settings.items() if isinstance(settings, dict) else ()
    return ", ".join(f"{key} {value}" for key, value in items)
