"""Memory that the cost model adds to what a log tells: weights, and the cache of one full request."""

from collections.abc import Mapping

import numpy as np

from kg.errors import TuningError
from kg.nouns.knowledge import Model
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.model_facts import facts_of
from kg.triples.names import Names
from kg.triples.serialisation import from_graph
from recommender.cost_model.facts.device import ELEMENT_BYTES, precision
from recommender.cost_model.facts.model import model_of
from recommender.cost_model.workloads.serving_memory import sequence_bytes

_GIB = 2.0**30
_MODEL = ("model", "model_tag", "model_path")
_PARALLEL = ("tensor_parallel_size", "tp_size", "tp")
_LENGTH = ("max_model_len", "context_length", "session_len")
_CACHE = "kv_cache_dtype"
_HALF = ("fp8", "int8")


def memory_of_model(
    graph: GraphStore, names: Names, arguments: Mapping[str, str], model: str = ""
) -> dict[str, float]:
    """Weights and the cache of one full request, in GiB on each device; empty if they are not known.

    Args:
        graph: What is known.
        names: Resolves the name of the model.
        arguments: The server's own arguments.
        model: The model where it is stated; else the one that the arguments name.
    """
    named = model or _first(arguments, _MODEL)
    if not named:
        return {}
    try:
        found = names.model(named)
        known = facts_of(from_graph(graph, Model, found.id))
        sizes = model_of(found.id, str(known.get("architecture", "")), known)
        split = float(_first(arguments, _PARALLEL) or 1)
        size = ELEMENT_BYTES[precision(found.weights or "bf16")]
        told = {"weights": sizes.parameters * size / split / _GIB}
        if length := float(_first(arguments, _LENGTH) or 0):
            settings = {"tensor_parallel": np.array([split]), "precision": np.zeros(1)}
            cache = float(sequence_bytes(sizes, settings, np.array([length]))[0])
            half = 0.5 if arguments.get(_CACHE, "").startswith(_HALF) else 1.0
            told["needed"] = cache * half / _GIB
    except (TuningError, ValueError):
        if model:
            raise
        return {}
    return told


def capacity_of(names: Names, tree: HardwareTree, hardware: str) -> dict[str, float]:
    """Memory of a device in GiB; empty if it is not known.

    Raises:
        UnknownEntityError: No such hardware is known.
    """
    held = tree.facts(names.hardware(hardware).id).get("memory_bytes")
    return {"capacity": float(held) / _GIB} if held else {}


def _first(arguments: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((arguments[key] for key in keys if arguments.get(key)), "")
