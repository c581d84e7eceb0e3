"""Diagnosis with the knowledge of a graph: causes, and the strategies against them with what they brought."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kg.nouns.effects import Effect
from kg.nouns.knowledge import Bottleneck, Cause, FaultPattern, Strategy
from kg.nouns.outcomes import Outcome
from kg.triples.serialisation import all_of
from recommender.diagnosis.causes.network import CauseNetwork
from recommender.diagnosis.diagnosis import Diagnosis, diagnose
from recommender.diagnosis.logs import SeenFault, read_log
from recommender.diagnosis.thresholds import SIGNIFICANT_SHARE, Thresholds
from recommender.retrieval.past_cases import past_cases

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ingest.profiles.facts.run import Profile
    from kg.rows.gains import RowGain
    from kg.triples.graph import GraphStore
    from recommender.diagnosis.diagnosis import Finding
    from recommender.retrieval.past_cases import PastCase, Present

MOST_REMEDIES = 3
_KINDS = 3
"""Effects told of a strategy: those with most evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A strategy against a cause.

    Attributes:
        strategy: What.
        against: Id of the node of the chain that it is for.
        effects: What was seen of it, most evidence first.
    """

    strategy: Strategy
    against: str
    effects: tuple[Effect, ...]

    @property
    def settings(self) -> list[str]:
        """What to set, as it is written."""
        return [
            f"{item.parameter}={item.value}"
            if item.environment or not item.flag
            else _flag(item.flag, item.value)
            for item in self.strategy.sets
        ]

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        return {
            "strategy": self.strategy.id,
            "label": self.strategy.label,
            "against": self.against,
            "settings": self.settings,
            "accuracy": self.strategy.accuracy,
            "requires": [item.target for item in self.strategy.requires],
            "not_where": [item.target for item in self.strategy.contraindicated_by],
            "applies_when": [item.condition for item in self.strategy.applies_when],
            "caveats": [item.text for item in self.strategy.caveats],
            "sources": [source.url or source.title for source in self.strategy.sources],
            "cases": [
                {
                    "metric": effect.metric,
                    "kind": str(effect.kind),
                    "n": effect.n,
                    "mean_factor": round(math.exp(effect.mean or 0.0), 4),
                    "hardware": effect.context.hardware or None,
                    "model_family": effect.context.family or None,
                }
                for effect in self.effects
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What the user lets a remedy do.

    Attributes:
        accuracy: Change what a model computes, or leave open whether it does.
        code: Ask for more than a setting: a change of the program, a kernel, another layout.
    """

    accuracy: bool = True
    code: bool = True

    def lets(self, strategy: Strategy) -> bool:
        """Whether a strategy keeps within this."""
        return (self.accuracy or strategy.accuracy == "unchanged") and (self.code or bool(strategy.sets))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisAnswer:
    """A diagnosis with remedies.

    Attributes:
        diagnosis: What was found.
        remedies: For each finding what to do, best known first.
        cases: For each finding past cases against a node of its chain, those most like this run first.
    """

    diagnosis: Diagnosis
    remedies: tuple[tuple[Remedy, ...], ...]
    cases: tuple[tuple[PastCase, ...], ...]

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        content = self.diagnosis.to_json()
        causes = content["causes"]
        assert isinstance(causes, list)  # noqa: S101  made a line above
        for cause, remedies, cases in zip(causes, self.remedies, self.cases, strict=True):
            cause["remedies"] = [item.to_json() for item in remedies]
            cause["matching_cases"] = [item.to_json() for item in cases]
        return content


def diagnose_profile(
    graph: GraphStore,
    profile: Profile,
    *,
    before: Profile | None = None,
    least: float = SIGNIFICANT_SHARE,
    allowed: Allowed | None = None,
    gains: Iterable[RowGain] = (),
    present: Present | None = None,
) -> DiagnosisAnswer:
    """Causes and remedies.

    Args:
        graph: The knowledge.
        profile: The run.
        before: An earlier run of the same job: then what became worse is explained.
        least: Share of the step from which a cause is significant.
        allowed: What remedies may do; anything if None.
        gains: Of past cases.
        present: What runs and where, for matching cases; without it none are matched.
    """
    patterns = list(all_of(graph, Bottleneck))
    strategies = list(all_of(graph, Strategy))
    network = CauseNetwork.of([*patterns, *all_of(graph, Cause)], _outcomes(graph, strategies))
    if is_training(profile):
        strategies = [s for s in strategies if not s.phases or {"training", "kernel"} & set(s.phases)]
    limits = allowed or Allowed()
    strategies = [item for item in strategies if limits.lets(item)]
    found = diagnose(profile, network, Thresholds.of(patterns), least=least, before=before)
    effects = list(all_of(graph, Effect))
    return DiagnosisAnswer(
        diagnosis=found,
        remedies=tuple(_remedies(item, strategies, effects) for item in found.findings),
        cases=_cases(found, strategies, gains, present),
    )


def _cases(
    found: Diagnosis, strategies: Sequence[Strategy], gains: Iterable[RowGain], present: Present | None
) -> tuple[tuple[PastCase, ...], ...]:
    """Against the cause first, then against what it brings on; of strategies that may be used."""
    usable = {item.id for item in strategies}
    known = [gain for gain in gains if gain.strategy in usable] if found.findings else []
    if present is None:
        return tuple(() for _ in found.findings)
    return tuple(
        tuple(past_cases(known, tuple(reversed(item.accused.chain)), present)) for item in found.findings
    )


def is_training(profile: Profile) -> bool:
    """Whether a backward pass or an optimiser ran; a run without either may be anything."""
    labels = {
        label.lower() for r in profile.ranks if r.kernels is not None for label in r.kernels.label.labels
    }
    return any("grad" in label or "backprop" in label or "adam" in label for label in labels)


def _remedies(
    finding: Finding, strategies: Sequence[Strategy], effects: Sequence[Effect]
) -> tuple[Remedy, ...]:
    """Against the cause first, then what may be behind it, then its effects; the better known first."""
    accused = finding.accused
    wanted = [accused.cause, *(cause for cause, _ in accused.perhaps), *reversed(accused.chain[:-1])]
    found: list[Remedy] = []
    for strategy in strategies:
        targets = {relation.target for relation in strategy.mitigates}
        against = next((node for node in wanted if node in targets), None)
        if against is None:
            continue
        mine = sorted((e for e in effects if e.strategy == strategy.id and e.n), key=lambda e: -e.n)
        found.append(Remedy(strategy=strategy, against=against, effects=tuple(mine[:_KINDS])))
    found.sort(
        key=lambda r: (wanted.index(r.against), -len(r.effects), r.strategy.kind == "claimed", r.strategy.id)
    )
    return tuple(found[:MOST_REMEDIES])


def _outcomes(graph: GraphStore, strategies: Iterable[Strategy]) -> dict[tuple[str, str], tuple[int, int]]:
    """For an edge from a cause to a bottleneck, how often a strategy against the one helped the other.

    An A/B test that named its strategy and its bottleneck says so: better counts for the edge, equivalent and
    worse against it.
    """
    targets = {s.id: {relation.target for relation in s.mitigates if relation.target} for s in strategies}
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for outcome in all_of(graph, Outcome):
        if not outcome.bottleneck or outcome.verdict == "undecided":
            continue
        for cause in targets.get(outcome.strategy, ()):
            helped, not_helped = found.get((cause, outcome.bottleneck), (0, 0))
            is_better = outcome.verdict == "better"
            found[cause, outcome.bottleneck] = (helped + is_better, not_helped + (not is_better))
    return found


def faults_in(graph: GraphStore, log: Path) -> list[SeenFault]:
    """Known faults of a log.

    Raises:
        InputError: The log cannot be read.
    """
    return read_log(log, all_of(graph, FaultPattern))


def _flag(flag: str, value: object) -> str:
    return flag if value is True else f"{flag} {value}"
