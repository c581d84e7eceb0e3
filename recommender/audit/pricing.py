"""Prices of findings, by the cost model: the same question with the setting and without it."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kg.errors import InputError, MissingFactError
from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.gain import NORMAL_90, Gain
from kg.nouns.setting import read_value
from kg.nouns.values import Value
from kg.terms.circumstances import SIZE_KINDS
from kg.terms.dialects import statement
from kg.terms.purposes import plain_key
from recommender.audit.case import AuditCase
from recommender.audit.finding import PricedCost, SettingFinding
from recommender.cost_model.change import modelled_gain
from recommender.cost_model.priced_step import MEMORY_SPREAD, price
from recommender.cost_model.question import Question
from recommender.cost_model.settings.dialects import OFF
from recommender.cost_model.settings.engine_defaults import engine_defaults, host_note
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY
from recommender.ranking.change import LEAST_LOG_GAIN

SHOWN = 0.005
"""Log gain below which the cost model sees nothing: half a per cent, far inside its own error."""

UNKNOWN_ROOM = {
    "en": "only where the memory holds the work without it, which is not known here",
    "zh": "仅当显存可容纳时才算浪费，此处未知",
}


def judged_by_memory(
    findings: Iterable[SettingFinding], case: AuditCase, question: Question | None
) -> tuple[SettingFinding, ...]:
    """The findings without those whose setting the memory needs; a note where that is not known.

    Of several that would save memory to no end by one setting, the first stands: it takes most away.

    Args:
        findings: Of a launch.
        case: The launch.
        question: What runs, for the cost model; None where it cannot be asked.
    """
    kept: list[SettingFinding] = []
    for item in findings:
        if item.spare and any(one.spare and _takes_away(one, item.setting.key) for one in kept):
            continue
        room = _has_room(item, case, question) if item.spare else True
        if room:
            kept.append(item)
        elif room is None:
            kept.append(replace(item, level=FindingLevel.NOTE, right=item.right or UNKNOWN_ROOM))
    return tuple(kept)


def priced_findings(
    findings: Sequence[SettingFinding],
    case: AuditCase,
    question: Question | None,
    shared: Question | None = None,
) -> tuple[SettingFinding, ...]:
    """The findings with what each costs, where the cost model says that it costs something; worst first.

    Args:
        findings: Of a launch.
        case: The launch.
        question: What would run without them; None where it has no price.
        shared: The same with the share of the memory that the launch takes; None without such a finding.
    """
    if question is None:
        return tuple(findings)
    priced = (
        item
        if item.adds or item.kind in {FindingKind.REFUSED, FindingKind.IGNORED}  # which nothing reads
        else _with_room(item, question, shared)
        if shared is not None and is_of_room(item, case)
        else replace(item, priced=_cost(item, case, question))
        for item in findings
    )
    return tuple(sorted(priced, key=lambda item: item.order))


def is_of_room(item: SettingFinding, case: AuditCase) -> bool:
    """True if a finding is about an engine's share of the memory, which bounds the number of requests."""
    stated = statement({item.setting.key: read_value(item.setting.value, "float")}, case.program)
    return not {"memory_share", "free_share"}.isdisjoint(stated.fact_of.values())


def _with_room(item: SettingFinding, question: Question, shared: Question) -> SettingFinding:
    """A finding on the share of the memory with its price: a note matters where requests find no room."""
    cost = _cost_of_room(question, shared)
    if cost is None or cost.most < LEAST_LOG_GAIN or item.level is not FindingLevel.NOTE:
        return replace(item, priced=cost)
    return replace(item, priced=cost, level=FindingLevel.WARNING)


def _cost_of_room(question: Question, shared: Question) -> PricedCost | None:
    """The cost of room for fewer requests: each side runs as many as fit."""
    try:
        [now], [without] = price(shared, [{}]), price(question, [{}])
        log_gain = math.log(without.throughput / now.throughput)
    except (InputError, MissingFactError, ValueError, ZeroDivisionError):
        return None
    if log_gain < SHOWN:
        return None
    return PricedCost(gain=modelled_gain(log_gain), memory_bytes=without.memory_bytes - now.memory_bytes)


def _has_room(item: SettingFinding, case: AuditCase, question: Question | None) -> bool | None:
    """True if the work fits without a setting; None if unknown.

    A server needs its weights and the cache of one request: the rest of the memory is room for more. What
    training keeps of experts depends on how uneven they are, which no launch says.
    """
    if question is None or (question.phase == "training" and question.model.experts):
        return None
    left = _left(item, case, question)
    without = {name: left.get(name, OFF[name]) for name in _facts(item, case, question) if name in OFF}
    without |= _facts_instead(item, question)
    if question.phase == "serving":
        without["batch"] = 1
    elif not without:
        return None
    try:
        [step] = price(question, [without])
    except (InputError, MissingFactError):
        return None
    if step.capacity_bytes is None:
        return None
    surely = step.memory_bytes * math.exp(NORMAL_90 * MEMORY_SPREAD)
    return surely <= USABLE_MEMORY * step.capacity_bytes


def _cost(item: SettingFinding, case: AuditCase, question: Question) -> PricedCost | None:
    now = _facts(item, case, question)
    if host_note(question.engine, now):
        return None
    standing = {**OFF, **engine_defaults(question.phase, question.engine, question.version)}
    without = {
        name: question.settings.get(name, standing.get(name))
        if str(question.settings.get(name, value)) != str(value)
        else standing.get(name)
        for name, value in now.items()
    } | _facts_instead(item, question)
    changed = {name for name, value in now.items() if without[name] is not None and without[name] != value}
    if not changed or changed & {
        *SIZE_KINDS["lengths"]
    }:  # at other lengths it is other work, not the same for less
        return None
    sides = [{name: now[name] for name in changed}, {name: without[name] for name in changed}]
    here = _gain(question, sides, {})
    is_open = question.phase == "serving" and "concurrency" not in case.facts and "batch" not in changed
    alone = _gain(question, sides, {"batch": 1, "concurrency": 1}) if is_open else None
    if here is None and alone is None:
        return None
    try:
        before, after = price(question, sides)
    except (InputError, MissingFactError):
        return PricedCost(gain=here, single_gain=alone)
    return PricedCost(gain=here, single_gain=alone, memory_bytes=after.memory_bytes - before.memory_bytes)


def _gain(
    question: Question, sides: Sequence[Mapping[str, object]], load: Mapping[str, object]
) -> Gain | None:
    """The gain of the second side over the first at a load; None where there is none to speak of."""
    try:
        before, after = price(question, [{**side, **load} for side in sides])
        log_gain = math.log(after.throughput / before.throughput)
    except (InputError, MissingFactError, ValueError, ZeroDivisionError):
        return None
    return modelled_gain(log_gain) if log_gain >= SHOWN else None


def _facts_instead(item: SettingFinding, question: Question) -> dict[str, object]:
    """Cost-model settings of the value to write instead; empty if the setting is removed."""
    if item.instead is None or plain_key(item.instead[0]) != plain_key(item.setting.key):
        return {}
    return _translated({plain_key(item.instead[0]): item.instead[1]}, question)


def _facts(item: SettingFinding, case: AuditCase, question: Question) -> dict[str, object]:
    """Cost-model settings that the finding's setting stands for."""
    settings = dict(case.forms.get(item.setting, {}))
    settings[plain_key(item.setting.key).rpartition(".")[2]] = item.setting.value
    return _translated(settings, question)


def _left(item: SettingFinding, case: AuditCase, question: Question) -> dict[str, object]:
    """Cost-model settings of what a launch still says without what a finding takes away."""
    left: dict[str, Value] = {}
    for setting in case.settings:
        if not _takes_away(item, setting.key):
            left |= case.forms.get(setting, {})
    return _translated(left, question)


def _takes_away(item: SettingFinding, key: str) -> bool:
    """True if a setting, or the object that it is in, goes with the finding."""
    return any(f"{plain_key(key)}.".startswith(f"{plain_key(name)}.") for name in item.removals)


def _translated(settings: Mapping[str, Value], question: Question) -> dict[str, object]:
    """Settings in the names of the cost model."""
    typed: dict[str, Value] = {
        name: value == "true" if value in {"true", "false"} else value for name, value in settings.items()
    }
    return dict(question.translated(typed))
