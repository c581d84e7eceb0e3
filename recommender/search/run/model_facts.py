"""The look-up of the facts of model, device and server that the cost model needs for a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.knowledge import Model
from kg.triples.model_facts import facts_of
from kg.triples.serialisation import from_graph
from recommender.cost_model.question import QuestionFacts
from recommender.search.objectives.modelled import question_of_section

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from kg.triples.names import Names
    from recommender.cost_model.question import Question
    from recommender.search.run.number_sources import ModelRequest


def look_up_facts(
    request: ModelRequest, graph: GraphStore, names: Names, hardware: HardwareTree
) -> tuple[dict[str, object], list[str]]:
    """The section of a search file with the facts of what it names; a fact that is unknown may be assumed.

    Returns:
        The section, and notes on what the names were taken for and what was assumed.

    Raises:
        UnknownEntityError: No such model, device or server.
    """
    model_name, device = names.model(request.model), names.hardware(request.hardware)
    sizes = facts_of(from_graph(graph, Model, model_name.id))
    assumed = {item.name: item.value for item in request.assumptions}
    server = names.server(request.server).id if request.server else ""
    facts = QuestionFacts.look_up(model_name.id, sizes, hardware, device.id, server, assumed=assumed)
    notes = [item.note for item in (model_name, device) if item.note] + list(map(str, request.assumptions))
    return {**request.section, "facts": facts.to_json()}, notes


def with_measured_runs(
    section: Mapping[str, object], about: Callable[[Question], Question]
) -> dict[str, object]:
    """A section with the measured runs near by, which correct its prices.

    Raises:
        MissingFactError: A size of the model is unknown.
    """
    runs = about(question_of_section(section)).measured.runs
    return {**section, "measured": [run.to_json() for run in runs]} if runs else dict(section)
