"""Findings from the registry of a release: settings that are gone, not there yet, misspelt or at odds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ingest.questions.launches.program import launcher_rows
from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.look_up import Standing
from kg.nouns.setting import Setting, SettingPlace, read_value
from kg.terms.meanings import OF_VLLM, meaning_of
from kg.terms.purposes import Purpose, plain_key, purpose
from kg.terms.setting_conflicts import broken_conflicts
from kg.terms.setting_registry import registry
from kg.terms.successors import as_object, successor_keys, successors
from recommender.audit.finding import REMOVED, SettingFinding, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ingest.questions.launches.running import RunningSetting
    from kg.nouns.look_up import LookUp
    from kg.nouns.setting import Setting
    from recommender.audit.case import AuditCase

STRICT = OF_VLLM | {"sglang", "tensorrt-llm", "lmdeploy", "llama.cpp", "tgi", "tei"}
"""Servers, whose parsers take no flag that they do not know; a trainer's script may have its own."""


AUTO = "auto"
"""Word that parsers of numbers take besides: ``--max-model-len auto``."""
MOST_GUESSED = 300
"""Unknown settings of a launch for which names like them are looked for, 2 ms each; a choice."""


DOTTED = OF_VLLM
"""Programs that take a field of an object as a flag (``vllm/utils/argparse_utils.py``)."""


def registry_findings(case: AuditCase) -> Iterator[SettingFinding]:
    """Settings that the release does not take, does not read, or refuses together."""
    if case.release is None:
        return
    unknown = 0
    gone: set[str] = set()
    for setting in case.settings:
        if not setting.is_known:
            continue
        answer = case.look_up(setting)
        if answer.standing is Standing.UNKNOWN:
            unknown += 1
            yield from _unknown(case, setting, suggest=unknown <= MOST_GUESSED)
        elif answer.standing in {Standing.REMOVED, Standing.NOT_YET} and not _is_gap(answer):
            flag = _flag_above(setting, answer)
            if flag not in gone and not _is_of_launcher(case, setting):
                yield _absent(case, setting, answer)
            gone |= {flag} if flag else set()
        elif answer.standing is Standing.TAKEN and answer.setting is not None:
            yield from _value(case, setting, answer)
    yield from _conflicts(case)


def _unknown(case: AuditCase, setting: RunningSetting, *, suggest: bool) -> Iterator[SettingFinding]:
    is_flag = setting.place is SettingPlace.FLAG
    is_read = case.release is not None and case.release.is_bracketed
    refused = is_flag and is_read and case.program in STRICT and setting.key.startswith("--")
    answer = case.look_up(setting, suggest=suggest)
    meant = answer.intended_key(setting.key)
    if meant and not refused and not _is_near(setting, meant):
        return
    if not (refused or meant) or (meant and plain_key(meant) == plain_key(setting.key)):
        return
    near = meant or (answer.nearest[0] if answer.nearest else "")
    name, chinese = _named(case)
    hint = f"; did you mean {near}?" if near else ""
    yield SettingFinding(
        rule="unknown-setting",
        kind=FindingKind.REFUSED if refused else FindingKind.IGNORED,
        level=_level(case, is_error=refused),
        setting=setting,
        says={
            "en": f"{name} has no such setting{hint}",
            "zh": f"{chinese} 没有该设置" + (f"；是否应为 {near}？" if near else ""),
        },
        cost=_REFUSED if refused else _IGNORED,
        remedy=_renamed(setting, near),
    )


def _absent(case: AuditCase, setting: RunningSetting, answer: LookUp) -> SettingFinding:
    above = _flag_above(setting, answer)
    refused = (bool(above) or setting.place is SettingPlace.FLAG) and case.program in STRICT
    item = answer.setting
    gone = answer.standing is Standing.REMOVED
    when = "" if item is None else (item.removed if gone else item.since) or ""
    software = "" if item is None else item.software
    successor = ", ".join(successor_keys(item)) if item is not None and gone else ""
    name, chinese = _named(case)
    then = f"; {successor} took its place" if successor else ""
    remedy = _rewritten(case, setting, answer)
    return SettingFinding(
        rule=REMOVED if gone else "later-setting",
        kind=FindingKind.REFUSED if refused else FindingKind.IGNORED,
        level=_level(case, is_error=refused) if refused or _wants(setting, item) else FindingLevel.NOTE,
        setting=setting,
        says={
            "en": f"{software} {when} {'took it away' if gone else 'brings it'}, {name} runs{then}",
            "zh": f"{software} {when} {'已移除该设置' if gone else '才引入该设置'}，当前为 {chinese}"
            + (f"；替代项 {successor}" if successor else ""),
        },
        cost=_REFUSED if refused else _IGNORED,
        remedy=remedy,
        adds=bool(successor) and not remedy and not above,  # which the user has to choose
        removes=(above,) if above else (),
        source="" if item is None else item.source,
    )


def _value(case: AuditCase, setting: RunningSetting, answer: LookUp) -> Iterator[SettingFinding]:
    item = answer.setting
    is_bare = setting.value == "true" and item is not None and item.type not in {"bool", "int", "float"}
    if item is not None and is_bare and (since := _valued_since(case, item)):
        yield SettingFinding(
            rule="value-not-taken",
            kind=FindingKind.REFUSED,
            level=_level(case, is_error=True),
            setting=setting,
            says={"en": f"takes a value since {since}", "zh": f"自 {since} 起需要取值"},
            cost=_REFUSED,
            remedy=written(setting.key, "on"),
            source=item.source,
        )
    if item is not None and setting.has_truth and item.type == "bool" and item.negation:
        yield from _switch(case, setting, item)
    share = _percentage(case, setting)
    if item is None or is_bare or (item.accepts(setting.value) and not share):
        return
    if not item.choices and case.program not in STRICT and not share:
        return  # what a trainer's file takes has wider types than its default shows
    words = {str(choice).lower() for choice in item.choices}
    if setting.value.lower() in words or (not words and setting.value == AUTO):
        return
    low, high = (0, 1) if share else (item.low, item.high)
    choices = [*{str(choice).lower(): str(choice) for choice in item.choices}.values()]
    allowed = ", ".join(choices[:8]) or _range("float" if share else item.type, low, high)
    more = ", ..." if len(choices) > 8 else ""
    refused = setting.place is SettingPlace.FLAG or bool(share)
    content = as_object(setting.value, answer)
    yield SettingFinding(
        rule="value-not-taken",
        kind=FindingKind.REFUSED if refused else FindingKind.IGNORED,
        level=_level(case, is_error=refused),
        setting=setting,
        says={"en": f"takes {allowed}{more}", "zh": f"可取 {allowed}{more}"},
        cost=_REFUSED if refused else _IGNORED,
        remedy=written(setting.key, share) if share else f"{setting.key} '{content}'" if content else "",
        source=item.source,
    )


def _switch(case: AuditCase, setting: RunningSetting, item: Setting) -> Iterator[SettingFinding]:
    """The finding on a truth behind a switch that has a negation instead of values."""
    is_on = (setting.value.lower() == "true") is not (setting.key == item.negation)
    if case.program in STRICT:
        yield SettingFinding(
            rule="value-not-taken",
            kind=FindingKind.REFUSED,
            level=_level(case, is_error=True),
            setting=setting,
            says={"en": "is a switch, and takes no value", "zh": "是开关，不接受取值"},
            cost=_REFUSED,
            remedy=item.key if is_on else item.negation,
        )


def _valued_since(case: AuditCase, item: Setting) -> str:
    """The release in which a server's switch became an option with a value; empty for any other setting."""
    if case.program not in STRICT or item.place is not SettingPlace.FLAG or item.type == "bool":
        return ""
    return next((end for end, form in reversed(item.before) if form.type == "bool"), "")


def _percentage(case: AuditCase, setting: RunningSetting) -> float:
    """The share of memory that is meant by a percentage, which no release takes; 0 where none is."""
    meaning, value = meaning_of(setting.key, case.program), read_value(setting.value, "float")
    is_share = meaning is not None and meaning.fact == "memory_share"
    return value / 100 if is_share and isinstance(value, int | float) and 1 < value <= 100 else 0.0


def _conflicts(case: AuditCase) -> Iterator[SettingFinding]:
    """Find settings that the release itself refuses together; each names the first setting involved."""
    release = case.release
    if release is None:
        return
    by_name = {name: setting for setting, forms in case.forms.items() for name in forms}
    values = {plain_key(item.key): "" for item in case.settings if not item.is_known}
    values |= {name: value for forms in case.forms.values() for name, value in forms.items()}
    for conflict in broken_conflicts(release, values):
        if case.program not in STRICT and not _is_own(case, values, conflict):
            continue
        words = {plain_key(word) for word in conflict.replace("(", " ").split()}
        setting = next((by_name[name] for name in by_name if name in words), None)
        if setting is None:
            continue
        name, chinese = _named(case)
        yield SettingFinding(
            rule="refused-together",
            kind=FindingKind.CONTRADICTION,
            level=FindingLevel.ERROR if case.program in STRICT else FindingLevel.NOTE,
            setting=setting,
            says={"en": f"{name} refuses: {conflict}", "zh": f"{chinese} 拒绝：{conflict}"},
            cost=_REFUSED,
        )


def _is_own(case: AuditCase, names: Iterable[str], conflict: str) -> bool:
    """True if the program itself raises a conflict: a trainer may have patched what it is built on."""
    release = case.release
    if release is None:
        return False
    found = (release.registry.find(name, None, release.release) for name in names)
    return any(item is not None and conflict in item.setting.conflicts for item in found)


def _is_of_launcher(case: AuditCase, setting: RunningSetting) -> bool:
    """True if a launcher reads the file that a setting stands in, and has it by its own flag."""
    beside = {item.key for item in case.settings if item.file and item.file == setting.file}
    owners = (name for name, row in launcher_rows().items() if beside.intersection(row.get("sections", ())))
    return any(registry(name).at("").look_up(f"--{setting.key}", suggest=False).usable for name in owners)


def _is_gap(answer: LookUp) -> bool:
    """True if the release lies between two that have a setting: that snapshot was read only in part."""
    item = answer.setting
    return item is not None and answer.release in item.absent


def _is_near(setting: RunningSetting, meant: str) -> bool:
    """True if an unknown name is misspelt, or is a field of the same object at another depth."""
    ours, other = plain_key(setting.key), plain_key(meant)
    if ours.partition(".")[0] != other.partition(".")[0] and "." in ours:
        return False
    return setting.place is not SettingPlace.YAML or ours.rpartition(".")[0] == other.rpartition(".")[0]


def _flag_above(setting: RunningSetting, answer: LookUp) -> str:
    """The flag of an open object in which a setting is written as a field; empty for any other setting."""
    item = answer.setting
    is_field = setting.place is SettingPlace.JSON and item is not None and item.place is SettingPlace.FLAG
    return item.key if is_field and item is not None else ""


def _wants(setting: RunningSetting, item: Setting | None) -> bool:
    """True if a removed setting had a purpose: not its last default, and not specific to the site."""
    if item is None or purpose(setting.key) is Purpose.SITE or setting.place is SettingPlace.JSON:
        return bool(item is not None and successor_keys(item))
    return not item.defaults or not item.is_default(setting.value, item.defaults[-1].release)


_REFUSED: Mapping[str, str] = {"en": "the program does not start", "zh": "程序无法启动"}
_IGNORED: Mapping[str, str] = {"en": "it has no effect", "zh": "不起作用"}


def _level(case: AuditCase, *, is_error: bool) -> FindingLevel:
    """An error where the release is told; where it is assumed, another may run."""
    return FindingLevel.ERROR if is_error and case.is_told else FindingLevel.WARNING


def _named(case: AuditCase) -> tuple[str, str]:
    """The program with its release, in both languages."""
    name = f"{case.program} {case.version}".rstrip()
    return (name, name) if case.is_told else (f"{name} (assumed)", f"{name}（假定）")


def _renamed(setting: RunningSetting, name: str) -> str:
    """The setting under another name; empty where there is none."""
    if not name:
        return ""
    meaning_changes = meaning_of(name) is None and meaning_of(setting.key) is not None
    if meaning_changes or (name.startswith("-") and setting.value == "true"):
        return name
    return f"{name} {setting.value}" if name.startswith("-") else f"{name}={setting.value}"


def _rewritten(case: AuditCase, setting: RunningSetting, answer: LookUp) -> str:
    """The spelling in the release that runs; empty where there is none, or the user has to choose."""
    item = answer.setting
    after = None if case.release is None else successors(case.release, answer, setting.value)
    if after and case.release is not None and case.program in DOTTED:
        after = {
            _dotted(case.release.look_up(key, suggest=False)) or key: value for key, value in after.items()
        }
    if after and all(key.startswith("-") for key in after):
        return " ".join(key if value == "true" else f"{key} {value}" for key, value in after.items())
    return (
        _renamed(setting, item.replaced_by) if item is not None and item.replaced_by.startswith("-") else ""
    )


def _dotted(found: LookUp) -> str:
    """The flag of a field of an object, as ``--structured-outputs-config.backend``; empty for a flag."""
    carrier = "" if found.setting is None else found.setting.carrier
    return f"{carrier}.{found.setting.key.partition('.')[2]}" if found.setting and carrier else ""


def _range(kind: str, low: float | None, high: float | None) -> str:
    bounds = [f"at least {low:g}"] if low is not None else []
    bounds += [f"at most {high:g}"] if high is not None else []
    return " ".join([kind, *bounds])
