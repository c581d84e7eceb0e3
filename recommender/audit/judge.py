"""Findings on the settings of a launch: by the rules, by the registry of its release, by the load."""

from collections.abc import Iterator, Sequence

from ingest.questions.launches.running import RunningSetting
from kg.nouns.audit import AuditRule, FindingKind
from kg.terms.conditions import Condition, Truth
from kg.terms.purposes import plain_key
from recommender.audit.case import AuditCase
from recommender.audit.finding import SettingFinding, written
from recommender.audit.launch_findings import launch_findings
from recommender.audit.registry_findings import registry_findings


def judge_settings(case: AuditCase, rules: Sequence[AuditRule]) -> tuple[SettingFinding, ...]:
    """The findings on the settings of a launch, worst first; of one setting those of its worst kind.

    Args:
        case: The launch.
        rules: Shipped ones, and those of a user, which win over shipped ones of the same id.
    """
    by_id = {rule.id: rule for rule in rules}
    found = [*registry_findings(case), *launch_findings(case)]
    settled = {item.setting for item in found if item.kind in {FindingKind.REFUSED, FindingKind.IGNORED}}
    for rule in by_id.values():
        found += [item for item in _by_rule(case, rule) if item.setting not in settled]
    return tuple(sorted(found, key=lambda item: item.order))


def _by_rule(case: AuditCase, rule: AuditRule) -> Iterator[SettingFinding]:
    if not rule.is_of(case.programs):
        return
    names = {plain_key(name) for name in rule.settings}
    running = {f"{name}." for forms in case.forms.values() for name in forms}
    removes = [one for one in rule.removes if any(name.startswith(f"{plain_key(one)}.") for name in running)]
    for setting, forms in case.forms.items():
        value = next((value for name, value in forms.items() if name in names), None)
        if value is None or not rule.costs(value) or _is_default(case, setting):
            continue
        if (rule.when and not _holds(rule.when, case)) or (rule.unless and _holds(rule.unless, case)):
            continue
        yield SettingFinding(
            rule=rule.id,
            kind=rule.kind,
            level=rule.level,
            setting=setting,
            says=rule.says,
            cost=rule.cost,
            right=rule.right,
            remedy=written(setting.key, rule.remedy) if rule.remedy.isalnum() else rule.remedy,
            removes=tuple(removes),
            default=default_text(case, setting),
            source=rule.source.url,
            spare=rule.spare,
        )


def _holds(condition: str, case: AuditCase) -> bool:
    """True if a condition holds for certain; a setting that the launch does not name is empty."""
    read = Condition(condition)
    unset = {f"setting[{name}]": "" for name in read.settings}
    return read.judge({**unset, **case.all_facts}).truth is Truth.HOLDS


def _is_default(case: AuditCase, setting: RunningSetting) -> bool:
    """True if a setting repeats the default of its release; an unset default has no value to repeat."""
    answer = case.look_up(setting)
    default = None if answer.setting is None else answer.setting.default_in(answer.release)
    return default is not None and default.value is not None and answer.is_default(setting.value)


def default_text(case: AuditCase, setting: RunningSetting) -> str:
    """The default of a setting in its release, as ``KEY=VALUE``; empty where it is unknown."""
    answer = case.look_up(setting)
    default = None if answer.setting is None else answer.setting.default_in(answer.release)
    if default is None or default.computed or default.value is None:
        return ""
    text = "true" if default.value is True else "false" if default.value is False else str(default.value)
    return f"{answer.setting.key}={text}" if answer.setting is not None else ""
