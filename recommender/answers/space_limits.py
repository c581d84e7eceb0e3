"""Limits of a space from the graph: values that exclude each other, are for other hardware, or failed.

Conditions of values that stay are told: the graph has them in words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kg.nouns.entities import Problem
from kg.nouns.knowledge import Strategy
from kg.triples.graph import GraphStore
from recommender.ranking.changes.treatment_failures import TreatmentFailures
from recommender.ranking.feasibility.exclusions import Exclusions
from recommender.space.made.generated import ExcludedValue, rule


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceLimits:
    """Values and pairs that the graph rules out of a space.

    Attributes:
        constraints: Settings that exclude each other, as a search file has them.
        excluded: Values that are left out.
        notes: Conditions of values that stay.
    """

    constraints: tuple[Mapping[str, str], ...]
    excluded: tuple[ExcludedValue, ...]
    notes: tuple[str, ...]


def space_limits(
    parameters: Mapping[str, Sequence[object]],
    *,
    graph: GraphStore,
    exclusions: Exclusions,
    path: Sequence[str],
    problem: Problem | None = None,
) -> SpaceLimits:
    """Find the values and pairs that the graph rules out of a space.

    Args:
        parameters: Values by parameter.
        graph: The knowledge.
        exclusions: Its strategies that exclude each other.
        path: The device and what is above it in the hardware tree.
        problem: What the space is for; None where no model is named.
    """
    names = frozenset(parameters)
    constraints = [
        rule(f"not ({_all(one)} and {_all(two)})", f"{said} exclude each other", source)
        for one, two, said, source in exclusions.among(names)
        if not {*one} & {*two} and _has(parameters, one) and _has(parameters, two)
    ]
    failures = TreatmentFailures(graph)
    left: list[ExcludedValue] = []
    notes: list[str] = []
    for name, values in parameters.items():
        setting = exclusions.setting(name)
        for value in values:
            alone = [item for item in setting if dict(item.configuration) == {name: value}]
            if not alone:
                continue
            told = next(_against(alone, path, failures, problem), None)
            if told is not None and len(values) > 1:
                left.append(ExcludedValue(what=f"{name}={value}", why=told[0], source=told[1]))
                continue
            for item in alone:
                notes += [
                    f"mind {name}={value} where: {one.target} ({one.source.title})"
                    for one in item.contraindicated_by
                ]
                notes += [f"mind {name}={value}: {one.text} ({one.source.title})" for one in item.caveats]
                notes += [
                    f"mind {name}={value}: only if {one.reason or one.condition} ({one.source.title})"
                    for one in item.applies_when
                ]
    return SpaceLimits(constraints=tuple(constraints), excluded=tuple(left), notes=(*dict.fromkeys(notes),))


def _against(
    strategies: Sequence[Strategy],
    path: Sequence[str],
    failures: TreatmentFailures,
    problem: Problem | None,
) -> Iterator[tuple[str, str]]:
    """Reasons to leave a value out, each with its source."""
    if all(item.hardware and not {*item.hardware} & {*path} for item in strategies):
        first = strategies[0]
        source = first.sources[0].title if first.sources else "the graph"
        yield f"{first.label} is for {', '.join(first.hardware)}", source
    if problem is None:
        return
    for item in strategies:
        seen = failures.of(item.id, problem)
        if seen is not None:
            yield f"{item.label} only ever failed here", f"outcome {seen.id}"


def _has(parameters: Mapping[str, Sequence[object]], setting: Mapping[str, object]) -> bool:
    return all(value in parameters[name] for name, value in setting.items())


def _all(setting: Mapping[str, object]) -> str:
    return " and ".join(f"{name} == {value!r}" for name, value in setting.items())
