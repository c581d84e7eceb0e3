"""Findings on the settings of a launch, printed for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cli.output import say
from cli.text.language import language
from kg.nouns.audit import FindingLevel
from recommender.audit.upgrade import UpgradeKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ingest.questions.launches.running import RunningSetting
    from recommender.audit.finding import SettingFinding
    from recommender.audit.upgrade import Upgrade, UpgradeChange

_MOST_LINES = 8
_MOST = 3
"""Findings in front of a plan; tunegraph check has all."""


def launch_settings(from_command: str | None, server: int | None = None) -> tuple[RunningSetting, ...]:
    """The settings of the launch in a script; none without one."""
    if from_command is None:
        return ()
    from cli.options import command_place, command_text
    from ingest.questions.launches.model_files import text_beside
    from ingest.questions.launches.running import running_settings

    folder, _ = command_place(from_command)
    return running_settings(
        command_text(from_command), beside=lambda name: text_beside(folder, name), server=server
    )


def show_finding(place: int, item: SettingFinding) -> None:
    """Print all of one finding."""
    say(f"{place}. {item.text}{_where(item)}   [{item.rule}]")
    _labelled("does", _in(item.says))
    _labelled("costs", _cost(item))
    _labelled("right", _in(item.right))
    _labelled("default", item.default)
    _labelled("do", _remedy(item))
    _labelled("or", "; ".join(item.others))
    _labelled("source", item.source)
    say()


def show_briefly(findings: Sequence[SettingFinding], *, of_measured: bool = False) -> None:
    """Print the findings on the running or the measured launch, beside a plan."""
    matter = [item for item in findings if item.matters and not item.stops]
    if not matter:
        return
    say("What the measured start sets costs you:" if of_measured else "What runs now costs you:")
    for item in matter[:_MOST]:
        cure = _remedy(item).replace(" --", " ")  # as the titles of changes name a flag
        right = f"right {_in(item.right)}" if item.level is FindingLevel.NOTE and item.right else ""
        say(f"  {cure}{_where(item)}: {'; '.join(filter(None, (_in(item.says), _factor(item), right)))}")
    if len(matter) > _MOST:
        say(f"  {len(matter) - _MOST} more: tunegraph check")


def show_stopping(findings: Sequence[SettingFinding]) -> None:
    """Print first that a launch does not start, and what does."""
    for item in findings:
        if item.stops:
            do = [*([item.remedy] if item.remedy else []), *item.others]
            cures = f"; what starts: {'; or '.join(do)}" if do else ""
            lead = "By the memory model this launch" if item.is_modelled else "This launch"
            say(f"{lead} does not start{_where(item)}: {_in(item.says)}{cures}")


def show_upgrade(script: str, change: Upgrade) -> None:
    """Print the changes that another release makes to a script: breaks, other defaults, new settings."""
    from cli import output

    for note in change.notes:
        output.note(note)
    breaks = sum(item.kind.breaks for item in change.changes)
    say(f"{script}: {change.program} {change.before} to {change.after}, to be changed: {breaks}\n")
    for kind, heading in _HEADINGS.items():
        items = [item for item in change.changes if item.kind is kind]
        shown = [item for item in items if item.strategy] if kind is UpgradeKind.POSSIBLE else items
        if shown:
            say(heading)
        for item in shown[:_MOST_LINES]:
            say(f"  {_change_text(item)}")
        if len(items) > len(shown[:_MOST_LINES]):
            say(f"  {len(items) - len(shown[:_MOST_LINES])} more of this kind: --json")


_HEADINGS = {
    UpgradeKind.REMOVED: "Gone:",
    UpgradeKind.REFUSED: "Values that are refused:",
    UpgradeKind.CONFLICT: "Refused together:",
    UpgradeKind.DEFAULT: "Other defaults:",
    UpgradeKind.SUPERFLUOUS: "No longer needed, it is the default:",
    UpgradeKind.POSSIBLE: "New, and known to help somewhere (tunegraph recommend asks whether here):",
}


def _change_text(item: UpgradeChange) -> str:
    where = "" if item.line is None else f" (line {item.line})"
    since = f", since {item.since}" if item.since else ""
    match item.kind:
        case UpgradeKind.REMOVED:
            then = f": write {item.after}" if item.after else ""
            return f"{item.key}{where}{since}{then}"
        case UpgradeKind.REFUSED:
            return f"{item.key} {item.before}{where}: takes {item.after}"
        case UpgradeKind.DEFAULT:
            return f"{item.key}: {item.before} -> {item.after}{since}"
        case UpgradeKind.POSSIBLE:
            return f"{item.key}{since}: {item.strategy}"
    return f"{item.key}{where}{since}"


def _labelled(label: str, text: str) -> None:
    from cli.diagnosis.labels import say_labelled

    if text:
        say_labelled(label, text)


def _where(item: SettingFinding) -> str:
    line = "" if item.setting.line is None else f"line {item.setting.line}"
    where = ", ".join(filter(None, (item.setting.file, line)))
    return f" ({where})" if where else ""


def _in(texts: Mapping[str, str]) -> str:
    return texts.get(language()) or texts.get("en", "")


def _cost(item: SettingFinding) -> str:
    return "; ".join(filter(None, (_factor(item), _in(item.cost))))


def _factor(item: SettingFinding) -> str:
    from recommender.audit.finding import factor_of

    if item.priced is None:
        return ""
    here, alone = item.priced.gain, item.priced.single_gain
    parts = [f"without it {factor_of(here)} of the throughput"] if here is not None else []
    if alone is not None:
        lead = "" if parts else "without it "
        parts.append(f"{lead}{factor_of(alone)} at one request at once")
    return ", ".join(parts) + ", modelled"


def _remedy(item: SettingFinding) -> str:
    if item.remedy:
        return f"write {item.remedy}"
    return f"remove {', '.join(item.removals)}" if item.removals else ""
