"""Scopes of strategies: phase, model family, hardware, version, and current settings."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from kg.nouns.entities import Problem, Source
from kg.nouns.knowledge import Model, Relation, Strategy
from kg.terms.meanings import table
from kg.terms.phases import scopes_of
from kg.terms.purposes import any_of, plain_key
from kg.triples.finders import mitigated, strategy_kinds, strategy_scopes
from kg.triples.graph import GraphStore

_ON = frozenset({"true", "1", "on", "yes"})

GENERAL_FAMILY = "transformer"
GENERATORS = frozenset({"decoder", "moe-decoder", "multimodal"})
"""Architectures that give text, unless a model states that it gives a vector or a score."""
TRANSFORMERS = frozenset({"encoder", "decoder", "encoder-decoder", "moe-decoder", "multimodal"})
"""Architectures that a strategy for any transformer is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The scope of a strategy, as the graph has it; an empty set means anywhere."""

    phases: frozenset[str]
    families: frozenset[str]
    hardware: frozenset[str]
    mitigates: frozenset[str]
    kind: str


def kinds_of(model: Model | None) -> frozenset[str]:
    """The names by which a scope may mean a model: its own, its family, its architecture and what that is.

    A model that also sees or hears, and whose language layers are known, is a decoder like any other.
    """
    if model is None:
        return frozenset()
    kinds = {model.id, model.family, model.architecture}
    if model.architecture in TRANSFORMERS:
        kinds.add(GENERAL_FAMILY)
    if model.architecture == "multimodal":
        stated = {fact.name for fact in model.facts}
        if "layers" in stated:
            kinds.add("moe-decoder" if "experts" in stated else "decoder")
    return frozenset(kinds - {""})


class Scopes:
    """The scopes of all strategies of a graph, read once."""

    def __init__(self, graph: GraphStore) -> None:
        self.kinds = strategy_kinds(graph)
        phases, families, hardware = strategy_scopes(graph)
        mitigates = mitigated(graph)
        nothing: frozenset[str] = frozenset()
        self.by_id = {
            identifier: Scope(
                phases=phases.get(identifier, nothing),
                families=families.get(identifier, nothing),
                hardware=hardware.get(identifier, nothing),
                mitigates=mitigates.get(identifier, nothing),
                kind=kind,
            )
            for identifier, kind in self.kinds.items()
        }

    def fitting(self, problem: Problem, kinds: frozenset[str], path: tuple[str, ...]) -> dict[str, Scope]:
        """Return the strategies whose scope holds the question.

        Args:
            problem: The question.
            kinds: What the model is, as :func:`kinds_of` has it; empty if unknown.
            path: The hardware and what is above it in the tree.
        """
        phases = scopes_of(problem.workload)
        return {
            identifier: scope
            for identifier, scope in self.by_id.items()
            if (not scope.phases or scope.phases & phases)
            and (not scope.families or not kinds or scope.families & kinds)
            and (not scope.hardware or scope.hardware & set(path))
        }


def already_set(strategy: Strategy, current: Mapping[str, object] | None) -> bool:
    """Return whether the current configuration has all that the strategy sets, or what shows it at work."""
    if current is None:
        return False
    if not strategy.sets:
        signs = _signs().get(strategy.id)
        return signs is not None and any(signs.fullmatch(plain_key(name)) for name in current)
    return all(
        item.parameter in current and (item.value is None or _same(current[item.parameter], item.value))
        for item in strategy.sets
    )


@cache
def _signs() -> dict[str, re.Pattern[str]]:
    """Settings that show strategies which set none."""
    return {name: any_of(keys) for name, keys in table("shown_by").items()}


def _same(one: object, other: object) -> bool:
    """Compare two values: an environment has text where a strategy has a number or a truth value."""
    texts = [str(value).strip().lower() for value in (one, other)]
    return texts[0] == texts[1] or all(text in _ON for text in texts)


def exclusions(strategy: Strategy, others: Iterable[Strategy]) -> Iterator[tuple[Strategy, Relation]]:
    """Yield those of ``others`` that exclude a strategy, with the statement that says so."""
    for other in others:
        for one, two in ((strategy, other), (other, strategy)):
            yield from ((other, item) for item in one.conflicts_with if item.target == two.id)


def version_conflict(strategy: Strategy, software: Mapping[str, object]) -> tuple[str, Source] | None:
    """Return why a version in use lacks the strategy, with the source; None if nothing says so."""
    for bound in strategy.since:
        used = software.get(bound.software)
        if used is not None and _is_before(used, bound.version):
            return f"needs {bound.software} {bound.version}, {used} is in use", bound.source
    for bound in strategy.removed:
        used = software.get(bound.software)
        if used is not None and _is_before(used, bound.version) is False:
            return f"was removed in {bound.software} {bound.version}, {used} is in use", bound.source
    return None


_VERSION = re.compile(r"v?\d")
_BEFORE_RELEASE = re.compile(r"rc|alpha|beta|dev|(?<=\d)[ab](?=\d)")


def _is_before(used: object, bound: object) -> bool | None:
    """Return whether a version came before another; None if one is none ("pull request 2550", "main")."""
    texts = [str(text).strip().lower() for text in (used, bound)]
    if not all(map(_VERSION.match, texts)):
        return None
    used_key, bound_key = map(_version, texts)
    return used_key < bound_key


def _version(text: str) -> tuple[tuple[int, ...], bool, tuple[int, ...]]:
    """Return the sort key of a version: ``8.0.RC2`` came before ``8.0``, which is ``8.0.0`` and ``8``."""
    mark = _BEFORE_RELEASE.search(text)
    release, rest = (text, "") if mark is None else (text[: mark.start()], text[mark.start() :])
    numbers = [int(part) for part in re.findall(r"\d+", release)]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), mark is None, tuple(int(part) for part in re.findall(r"\d+", rest))
