"""Hypotheses held against the cost model: what cannot fit or surely loses by it is not worth a test."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from kg.errors import TuningError
from kg.nouns.entities import Problem
from kg.nouns.values import Settings
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.model_facts import model_facts
from recommender.cost_model.estimate import estimate_question
from recommender.cost_model.question import Question
from recommender.cost_model.settings.dialects import OFF, translate
from recommender.cost_model.settings.plans import PHASES

LOSS = -0.02
"""Modelled log gain, in nats, below which a hypothesis is dropped. The errors of two estimates of one step
that differ in a setting mostly cancel; 2 % is what is then left of them, by assumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screening:
    """The cost model's result for a change.

    Attributes:
        gain: Modelled log gain in nats; None where it has no setting for the change, or lacks a fact.
        fits: Whether it fits the memory; None if that is not known.
        reason: Why there is no gain, or why it is dropped; empty otherwise.
    """

    gain: float | None = None
    fits: bool | None = None
    reason: str = ""

    @property
    def is_dropped(self) -> bool:
        """True if the change is not worth a test."""
        return self.fits is False or (self.gain is not None and self.gain < LOSS)


class HypothesisScreen:
    """The cost model for the problems of one graph.

    Args:
        graph: Models.
        tree: Hardware.
        about: Gives a question what measured runs near by make of its prices; None for nothing.
    """

    def __init__(
        self,
        graph: GraphStore,
        tree: HardwareTree,
        about: Callable[[Question], Question] | None = None,
    ) -> None:
        self._graph = graph
        self._tree = tree
        self._about = about or (lambda question: question)

    def check(self, problem: Problem, change: Settings) -> Screening:
        """Model the gain of a change on a problem, relative to its current settings."""
        phase = problem.workload.kind.value
        if phase not in PHASES:
            return Screening(reason="the cost model has steps of training and serving only")
        count = problem.hardware.count or 1
        translation = translate(change, phase, count=count)
        if translation.untold or not translation.settings:
            return Screening(
                reason=f"the cost model has no setting for {', '.join(translation.untold) or 'it'}"
            )
        off = {name: OFF[name] for name in translation.settings if name in OFF}
        try:
            question = self._about(Question.of(problem, model_facts(self._graph, problem), self._tree))
            steps = estimate_question(question, [{**off, **question.settings}, translation.settings])
        except TuningError as fault:
            return Screening(reason=str(fault))
        gain = math.log(float(steps.throughput[1]) / float(steps.throughput[0]))
        fits = bool(steps.fits[1]) if math.isfinite(steps.capacity_bytes) else None
        reason = "it does not fit the memory" if fits is False else ""
        return Screening(
            gain=gain, fits=fits, reason=reason or (f"modelled {math.exp(gain):.2f}x" if gain < LOSS else "")
        )
