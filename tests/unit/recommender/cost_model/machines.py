"""Machines and models for the tests of the cost model: facts as the shipped files have them."""

from pathlib import Path
from typing import Any

import yaml

from recommender.cost_model.facts.model import ModelSizes, model_of
from recommender.cost_model.machine import Machine, machine

DATA = Path(__file__).resolve().parents[4] / "data"


def _nodes(folder: str, key: str) -> dict[str, Any]:
    found = {}
    for path in sorted((DATA / folder).glob("*.yaml")):
        for node in yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)[key]:
            found[node["id"]] = node
    return found


HARDWARE = _nodes("hardware", "hardware")
MODELS = _nodes("models", "models")


def facts(name: str) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    at: str | None = name
    while at:
        for fact, entry in (HARDWARE[at].get("facts") or {}).items():
            found.setdefault(fact, entry["value"])
        at = HARDWARE[at].get("broader")
    return found


def machine_of(device: str, count: int, server: str = "") -> Machine:
    around = facts(server) if server else None
    return machine(device, facts(device), count=count, server=server, server_facts=around)


def model(name: str) -> ModelSizes:
    node = MODELS[name]
    values = {k: v["value"] for k, v in (node.get("facts") or {}).items()}
    return model_of(name, node["architecture"], values)
