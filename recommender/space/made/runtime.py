"""Run-time variables and data loading as a space: what a run reads from its environment or is told.

Values, defaults, documented ranges and conditions ship in ``data/runtime/variables.yaml``. A variable of the
environment is passed on by the search file's ``environment``; what is an argument stands in the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

import data
from ingest.files.safe_yaml import load_yaml
from kg.errors import InfeasibleError, InputError
from kg.nouns.setting import SettingPlace
from kg.terms.setting_registry import registry
from recommender.space.expressions import Expression
from recommender.space.made.generated import ExcludedValue, GeneratedSpace, SpaceDraft, rule

FILE = "runtime/variables.yaml"
KINDS = ("communication", "memory", "dispatch", "loading")
MOST = 1_000_000
"""Configurations up to which a space is counted; a choice."""
SERVERS, DEVICES, CORES, NODE = "servers", "devices", "cores", "devices_of_a_node"
_FACTS = frozenset({SERVERS, DEVICES, CORES, NODE})


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimePlace:
    """The machine for which run-time variables are chosen.

    Attributes:
        hardware: Id of the device.
        path: It and what is above it in the hardware tree.
        devices: Devices of the job.
        devices_of_a_node: Devices of one server that the job uses; None if unknown.
        cores: CPU cores of a server; None if unknown.
    """

    hardware: str
    path: tuple[str, ...]
    devices: int
    devices_of_a_node: int | None = None
    cores: int | None = None

    @property
    def facts(self) -> dict[str, int]:
        """Facts that conditions may name, where they are known."""
        told: dict[str, int | None] = {
            DEVICES: self.devices,
            NODE: self.devices_of_a_node,
            CORES: self.cores,
            SERVERS: None if self.devices_of_a_node is None else -(-self.devices // self.devices_of_a_node),
        }
        if self.devices == 1:
            told |= {NODE: 1, SERVERS: 1}
        return {name: value for name, value in told.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable as it ships.

    Attributes:
        name: What it is called.
        kind: One of ``KINDS``.
        values: Worth trying.
        range: What is documented.
        source: Title and address of the documentation.
        hardware: Nodes of the hardware tree that it is for; empty for any.
        default: What holds where it is not set; None where that is no value of it.
        unset: Whether not to set it is a choice.
        argument: Whether it is told in the command and not by the environment.
        when: Condition on the place; empty for always.
        active: Condition on other variables; empty for always.
        holds: Rule over variables and place; empty for none.
        reason: Of that rule.
    """

    name: str
    kind: str
    values: tuple[object, ...]
    range: str
    source: str
    hardware: tuple[str, ...] = ()
    default: object = None
    unset: bool = False
    argument: bool = False
    when: str = ""
    active: str = ""
    holds: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSpace:
    """A space of variables.

    Attributes:
        space: Parameters, rules, and what was left out.
        environment: What passes variables on, as a search file has it.
        default: What holds where nothing is set.
        arguments: Parameters that must stand in the command.
    """

    space: GeneratedSpace
    environment: Mapping[str, str] = field(default_factory=dict)
    default: Mapping[str, object] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


@cache
def variables() -> tuple[Variable, ...]:
    """The variables that ship."""
    raw = load_yaml(data.resource(FILE).read_bytes())
    assert isinstance(raw, dict)  # noqa: S101  it ships, and a test reads it
    found = []
    for item in raw["variables"]:
        source = raw["sources"][item["source"]]
        told = {**item, "source": f"{source['title']} {source['url']}"}
        if software := told.pop("software", ""):
            told["default"] = _default(software, told["name"], told["values"])
        lists = {key: tuple(told[key]) for key in ("values", "hardware") if key in told}
        found.append(Variable(**{**told, **lists}))
    return tuple(found)


def _default(software: str, name: str, values: Sequence[object]) -> object:
    """The default of a variable in the newest release that the registry of its software has read."""
    release = registry(software).at()
    setting = release.look_up(name, SettingPlace.ENV).setting
    stated = setting.default_in(release.release) if setting is not None else None
    assert stated is not None  # noqa: S101  both ship, and a test reads them
    return next(value for value in values if str(value) == str(stated.value))


def runtime_space(place: RuntimePlace, kinds: Sequence[str] = KINDS) -> RuntimeSpace:
    """The variables that mean anything somewhere.

    Args:
        place: Where it runs.
        kinds: Of ``KINDS``.

    Raises:
        InputError: A kind that is none.
        InfeasibleError: Nothing is left; the message names the rules.
    """
    if wrong := [kind for kind in kinds if kind not in KINDS]:
        raise InputError(f"no kind of variables named {wrong[0]!r}", hint=f"of {', '.join(KINDS)}, or all")
    draft = SpaceDraft()
    environment: dict[str, str] = {}
    default: dict[str, object] = {}
    arguments = []
    for item in variables():
        if item.kind not in kinds or not _is_for(item, place):
            continue
        if (why := _off(item, place, draft)) is not None:
            if why:
                draft.left.append(ExcludedValue(what=item.name, why=why, source=item.source))
            continue
        _declare(item, draft, default)
        if item.argument:
            arguments.append(item.name)
        else:
            environment[item.name] = f"{{{item.name}}}"
        if item.holds:
            _limit(item, place, draft)
    if not draft.parameters:
        told = "; ".join(f"{item.what}: {item.why}" for item in draft.left) or "none is known for the device"
        raise InfeasibleError(
            f"no variable of {', '.join(kinds)} means anything on {place.hardware}", hint=told
        )
    return RuntimeSpace(
        space=draft.finish(most=MOST),
        environment=environment,
        default=default,
        arguments=tuple(arguments),
    )


def _is_for(item: Variable, place: RuntimePlace) -> bool:
    return not item.hardware or bool({*item.hardware} & {*place.path})


def _off(item: Variable, place: RuntimePlace, draft: SpaceDraft) -> str | None:
    """Why a variable means nothing at a place; None if it does, empty if that is said as a skipped rule."""
    if not item.when:
        return None
    condition = Expression.parse(item.when, _FACTS)
    if lacking := sorted(condition.names - place.facts.keys()):
        draft.skipped.append(f"{item.name} where {item.when}: {', '.join(lacking)} not known, it is kept")
        return None
    told = {name: np.array([place.facts[name]]) for name in condition.names}
    return None if condition.evaluate(told, 1)[0] else f"means nothing unless {item.when}"


def _declare(item: Variable, draft: SpaceDraft, default: dict[str, object]) -> None:
    values = list(item.values)
    when = item.active
    if item.unset:
        switch = f"set_{item.name}"
        draft.parameters[switch] = [0, 1]
        default[switch] = 0
        when = f"{switch} == 1"
    elif not item.active:
        default[item.name] = item.default
    draft.parameters[item.name] = {"values": values, "when": when} if when else values
    draft.notes.append(
        f"{item.name}: default {'unset' if item.unset else item.default}; {item.range} ({item.source})"
    )


def _limit(item: Variable, place: RuntimePlace, draft: SpaceDraft) -> None:
    """A rule over variables and place, with the facts of the place in it."""
    parsed = Expression.parse(item.holds, _FACTS | draft.parameters.keys())
    lacking = sorted((parsed.names & _FACTS) - place.facts.keys())
    if lacking:
        draft.skipped.append(f"{item.reason}: {', '.join(lacking)} not known (--cores)")
        return
    text = item.holds
    for name in sorted(parsed.names & _FACTS, key=len, reverse=True):
        text = text.replace(name, str(place.facts[name]))
    draft.constraints.append(rule(text, f"{item.reason}: {place.facts[CORES]} cores", item.source))
