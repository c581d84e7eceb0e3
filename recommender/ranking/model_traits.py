"""Properties of a model that decide which settings and measurements go with it."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import data
from kg.errors import MissingFactError
from kg.nouns.entities import Configuration
from kg.nouns.knowledge import Model
from kg.terms.dialects import statement
from kg.triples.model_facts import plain_facts
from recommender.cost_model.facts.model import model_of


def architecture_has_experts(architecture: str) -> bool | None:
    """True if models of an architecture have experts; None where only some have."""
    return None if architecture == "multimodal" else architecture == "moe-decoder"


@cache
def _accuracies() -> Mapping[tuple[str, str], str]:
    """Published accuracies in words, by model and number format."""
    return {
        (row["model"], row["precision"]): f"published: {row['benchmark']} {row['accuracy']}"
        + (f", in 16 bit {row['in_16_bit']}" if row["in_16_bit"] else "")
        for row in csv.DictReader(data.text("models/accuracy.csv").splitlines())
    }


def accuracy_in(model: str, precision: str) -> str:
    """The published accuracy of a model in a number format, in words; empty where none is known."""
    return _accuracies().get((model, precision), "")


def accuracy_with(model: str, configuration: Configuration) -> str:
    """The published accuracy of a model in the format that a change gives its weights, as above."""
    return accuracy_in(model, str(statement(configuration).facts.get("precision", "")))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTraits:
    """Properties of a model that decide which settings go with it.

    Attributes:
        id: Its id.
        family: Its family.
        parameters: Number of parameters; None if unknown.
        is_mixture: Whether it has experts; None if unknown.
        attention: Kind of attention; empty if unknown.
        has_draft: Whether it has a multi-token-prediction head; None if unknown.
        is_multimodal: Whether it reads images or sound too.
        is_pooling: Whether it gives a vector or a score, not text.
        routed: Parameters of its routed experts; 0 if it has none, or they are unknown.
        most_tokens: The longest sequence that it takes; None if unknown.
        hub: Its name on the hub of Hugging Face; empty if unknown.
    """

    id: str
    family: str = ""
    parameters: float | None = None
    is_mixture: bool | None = None
    attention: str = ""
    has_draft: bool | None = None
    is_multimodal: bool = False
    is_pooling: bool = False
    routed: float = 0.0
    most_tokens: int | None = None
    hub: str = ""

    def device_parameters(self, tp: int, pp: int, ep: int) -> float | None:
        """Parameters that each device of a layout holds; None where their number is unknown."""
        if not self.parameters:
            return None
        return (self.parameters - self.routed) / (tp * pp) + self.routed / (pp * max(ep, tp))

    @classmethod
    def of(cls, model: Model | None, name: str = "") -> ModelTraits:
        """The traits of a model of the graph; of an unknown one its name alone."""
        if model is None:
            return cls(id=name)
        stated = {fact.name: fact.value for fact in model.facts}
        parameters, experts = stated.get("parameters"), stated.get("experts")
        kind = stated.get("attention_kind")
        is_mixture: bool | None = architecture_has_experts(model.architecture)
        if experts is not None:
            is_mixture = bool(experts)
        routed = _routed(stated)
        if parameters is None:
            parameters, routed = _implied(model, stated)
        is_read = kind is not None or "draft_layers" in stated or "mtp_layers" in stated
        return cls(
            id=model.id,
            family=model.family,
            parameters=float(parameters) if isinstance(parameters, int | float) else None,
            is_mixture=is_mixture,
            attention="latent" if "kv_lora_rank" in stated else str(kind or ""),
            has_draft=bool(stated.get("mtp_layers") or stated.get("draft_layers")) if is_read else None,
            is_multimodal=model.architecture == "multimodal",
            is_pooling=bool(stated.get("pooling")),
            routed=routed,
            hub=next(iter(str(stated.get("hugging_face", "")).split()), ""),
            most_tokens=most if isinstance(most := stated.get("max_positions"), int) else None,
        )


def _implied(model: Model, facts: Mapping[str, object]) -> tuple[float | None, float]:
    """Parameters that the sizes of a model imply, and those of its routed experts; none where sizes lack."""
    try:
        sizes = model_of(model.id, model.architecture, plain_facts(facts))
    except MissingFactError:
        return None, 0.0
    return sizes.parameters or None, sizes.routed_parameters


def _routed(facts: Mapping[str, object]) -> float:
    """Parameters of the routed experts: a token uses all others, and of these those of the chosen experts."""
    names = ("parameters", "active_parameters", "experts", "experts_per_token")
    numbers = [value for name in names if isinstance(value := facts.get(name), int | float)]
    if len(numbers) < len(names):
        return 0.0
    parameters, active, experts, chosen = numbers
    return (parameters - active) / (1 - chosen / experts) if experts > chosen else 0.0


def is_same_network(one: ModelTraits, other: ModelTraits) -> bool:
    """True if two models of one family differ only in their trained weights."""
    if not one.parameters or not other.parameters or one.family != other.family:
        return False
    return abs(one.parameters / other.parameters - 1) < 0.01 and one.is_mixture == other.is_mixture
