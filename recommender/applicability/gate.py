"""The gate: whether a strategy applies to a question, may apply, or does not, with the fact that decides."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kg.nouns.framework import Framework
from kg.nouns.knowledge import Assignment, Strategy
from kg.nouns.look_up import Standing
from kg.nouns.setting import SettingPlace
from kg.terms.conditions import HOLDS, Condition, FactValue, Judgement, Truth
from kg.terms.facts import OBSERVATIONS
from kg.terms.meanings import degree_of, is_installed
from kg.terms.parts import part_of
from kg.terms.resolved_defaults import is_default
from kg.terms.setting_registry import ReleaseSettings

Facts = Mapping[str, FactValue]


PHASES_OF = {
    "serving": {"serving", "inference", "prefill", "decode"},
    "prefill": {"inference", "prefill"},
    "decode": {"inference", "decode"},
}
"""Phases of strategies that a phase of a question takes in; another takes in itself alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applicability:
    """A strategy judged for one question.

    Attributes:
        truth: Whether it applies.
        because: The fact that decided, or what would have to hold, in words.
        missing: Names of the facts that are unknown and would decide.
        source: Who says so; empty for a rule of the scope's own fields.
    """

    truth: Truth
    because: str = ""
    missing: frozenset[str] = frozenset()
    source: str = ""


APPLIES = Applicability(truth=Truth.HOLDS)


IN_PROFILES = "a profile shows"
"""Begins a condition that only a profile settles, of a question that names no bottleneck."""


def judge(strategy: Strategy, facts: Facts, frameworks: Iterable[Framework] = ()) -> Applicability:
    """Judge a strategy for the facts of a question.

    All that it says of its scope must hold: phases, model families, hardware, the framework that reads its
    settings, and its conditions. What fails decides before what is unknown.

    Args:
        strategy: What.
        facts: Of the question (:func:`recommender.applicability.question_facts.question_facts`).
        frameworks: Those that the graph knows; what a strategy sets must be read by one in use.
    """
    unknown: list[tuple[Judgement, str]] = []
    for judgement, source in _judgements(strategy, facts, frameworks):
        if judgement.truth is Truth.FAILS:
            return Applicability(truth=Truth.FAILS, because=judgement.because, source=source)
        if judgement.truth is Truth.UNKNOWN:
            unknown.append((judgement, source))
    if not unknown:
        return APPLIES
    return Applicability(
        truth=Truth.UNKNOWN,
        because=" and ".join(dict.fromkeys(item.because for item, _ in unknown)),
        missing=frozenset[str]().union(*(item.missing for item, _ in unknown)),
        source=unknown[0][1],
    )


def _judgements(
    strategy: Strategy, facts: Facts, frameworks: Iterable[Framework]
) -> Iterator[tuple[Judgement, str]]:
    yield _phase(strategy.phases, facts), ""
    if facts.get("phase") != "kernel":  # a kernel belongs to no model
        yield _among("model", strategy.families, facts), ""
    yield _among("hardware", strategy.hardware, facts), ""
    yield _framework(strategy, facts, frameworks), ""
    yield _parts(strategy, facts), ""
    yield judge_release(strategy, facts), ""
    for clause in strategy.applies_when:
        judgement = Condition(clause.condition).judge(facts)
        if judgement.truth is Truth.UNKNOWN:
            judgement = _unsettled(judgement, clause.reason or judgement.because, facts)
        yield judgement, clause.source.url or clause.source.title


def _parts(strategy: Strategy, facts: Facts) -> Judgement:
    """Fail where a strategy sets something of a part that the model, the chip or the layout lacks."""
    divides = any(degree_of(item.parameter) for item in strategy.sets)
    for item in strategy.sets:
        part = part_of(setting_key(item), item.value, item.software)
        is_fixed = part is not None and (part.is_built or (part.is_split and not divides))
        if part is not None and is_fixed and (lacking := part.lacking(facts)):
            return Judgement(truth=Truth.FAILS, because=lacking)
    return HOLDS


def _unsettled(judgement: Judgement, reason: str, facts: Facts) -> Judgement:
    """An open condition in the words of its file.

    What only an observation would settle was not observed, unless nobody looked: a question without any
    bottleneck leaves open what a profile shows. Where it names its programs no other one runs.
    """
    names = {fact.partition("[")[0] for fact in judgement.missing}
    if names == {"bottleneck"} and not any(fact.startswith("bottleneck[") for fact in facts):
        because = reason if reason.startswith(IN_PROFILES) else f"{IN_PROFILES} that {reason}"
        return Judgement(truth=Truth.UNKNOWN, because=because, missing=judgement.missing)
    closed = OBSERVATIONS | ({"software"} if "framework" in facts else set())
    if names <= closed:
        return Judgement(truth=Truth.FAILS, because=f"nothing shows that {reason}")
    return Judgement(truth=Truth.UNKNOWN, because=reason, missing=judgement.missing)


def _phase(phases: tuple[str, ...], facts: Facts) -> Judgement:
    phase = facts.get("phase")
    if not phases or phase is None:
        return HOLDS
    name = str(phase)
    if facts.get("pooling") and set(phases) == {"decode"}:
        return Judgement(truth=Truth.FAILS, because="the model gives a vector or a score: it does not decode")
    role = str(facts.get("role") or "")
    if role in {"prefill", "decode"} and not {role, "inference", "serving"} & set(phases):
        return Judgement(truth=Truth.FAILS, because=f"this is a {role} server")
    if PHASES_OF.get(name, {name}) & set(phases):
        return HOLDS
    return Judgement(truth=Truth.FAILS, because=f"phase: {name}")


def _among(fact: str, allowed: tuple[str, ...], facts: Facts) -> Judgement:
    if not allowed:
        return HOLDS
    names = facts.get(fact)
    if names is None:
        return Judgement(
            truth=Truth.UNKNOWN, because=f"{fact} one of {', '.join(allowed)}", missing=frozenset({fact})
        )
    if isinstance(names, frozenset) and names & set(allowed):
        return HOLDS
    return Judgement(truth=Truth.FAILS, because=f"{fact}: none of {', '.join(allowed)}")


def _framework(strategy: Strategy, facts: Facts, frameworks: Iterable[Framework]) -> Judgement:
    """Fail where no framework in use, nor software below it, reads what a strategy sets.

    A server runs its own code: what is written in code, or takes new code, is nothing to tune there.
    """
    softwares = {item.software for item in strategy.sets if item.software}
    used = {key[len("software[") : -1] for key in facts if key.startswith("software[")}
    named = facts.get("framework")
    used |= named if isinstance(named, frozenset) else set()
    running = [item for item in frameworks if item.id in used]
    if not running:
        return HOLDS
    if not any(all(item.reads(software) for software in softwares) for item in running):
        reader = ", ".join(sorted(softwares))
        return Judgement(
            truth=Truth.FAILS, because=f"framework: {running[0].label} does not read settings of {reader}"
        )
    if strategy.needs_code and all(item.is_server or is_installed(item.id) for item in running):
        return Judgement(truth=Truth.FAILS, because=f"framework: {running[0].label} runs code of its own")
    return HOLDS


IN_REGISTRY = frozenset({SettingPlace.FLAG, SettingPlace.ENV, SettingPlace.JSON})
"""Places whose settings a registry of a release lists; what code sets may be the default of a flag there."""


def judge_release(strategy: Strategy, facts: Facts) -> Judgement:
    """Judge whether the releases in use take the settings of a strategy, and not as their defaults.

    A strategy fails where a release in use does not have one of its settings yet, or lost it and does
    something else, where it lacks the choice, and where all that it sets is what the release does without
    being told. Software without a registry decides nothing.

    Args:
        strategy: What.
        facts: Of the question; ``software[NAME]`` is a release.
    """
    for release in _releases(facts):
        defaults = []
        for item in strategy.sets:
            is_listed = item.place in IN_REGISTRY
            look_up = release.look_up(setting_key(item), item.place if is_listed else None, suggest=False)
            if look_up.setting is None:
                continue
            if not look_up.usable and is_listed:
                if look_up.setting.is_default(item.value, release.release):
                    defaults.append(True)  # what it did at last: the release does no other
                    continue
                return Judgement(truth=Truth.FAILS, because=str(look_up))
            choices = look_up.setting.choices if look_up.standing is Standing.TAKEN else ()
            if choices and is_listed and item.value is not None and not look_up.setting.accepts(item.value):
                because = f"{release.registry.software} {release.release} does not take {item.value}"
                return Judgement(truth=Truth.FAILS, because=because)
            defaults.append(is_default(look_up, item.value, facts))
        if defaults and len(defaults) == len(strategy.sets) and all(defaults):
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
