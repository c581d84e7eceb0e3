"""The look-up of the facts of model, device and server that the cost model needs for a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.nouns.knowledge import Model
from kg.triples.serialisation import from_graph

if TYPE_CHECKING:
    from kg.triples.graph import GraphStore
    from kg.triples.hardware_tree import HardwareTree
    from kg.triples.names import Names
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
    model = from_graph(graph, Model, model_name.id)
    assumed = {item.name: item.value for item in request.assumptions}
    server: dict[str, object] | None = None
    if request.server:
        node = names.hardware(request.server).id
        server = {"id": node, "facts": {k: v for k, v in hardware.facts(node).items() if k not in assumed}}
    facts = {
        "model": {
            "id": model.id,
            "architecture": model.architecture,
            "facts": {f.name: f.value for f in model.facts if isinstance(f.value, int | float | str)},
        },
        "device": {"id": device.id, "facts": {**assumed, **hardware.facts(device.id)}},
        "server": server,
    }
    notes = [item.note for item in (model_name, device) if item.note] + list(map(str, request.assumptions))
    return {**request.section, "facts": facts}, notes
