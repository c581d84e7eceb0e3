"""Machines and models for the tests of the cost model: facts as the shipped files have them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from recommender.cost_model.estimate import estimate
from recommender.cost_model.facts.model import ModelSizes, model_of
from recommender.cost_model.machine import Machine, machine
from recommender.cost_model.workloads.steps import Steps

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


A2 = ("ascend-910b1", 8, "atlas-800t-a2")


def train(
    *settings: Mapping[str, object],
    name: str = "llama-2-7b",
    place: tuple[str, int, str] = A2,
) -> Steps:
    base = {"seq_len": 4096, "gbs": 32}
    return estimate(
        model=model(name),
        machine=machine_of(*place),
        phase="training",
        settings=[{**base, **one} for one in settings],
    )


A3 = ("ascend-910c", 16, "atlas-800i-a3")


def serve(
    *settings: Mapping[str, object], name: str = "qwen3-32b", place: tuple[str, int, str] = A3
) -> Steps:
    return estimate(model=model(name), machine=machine_of(*place), phase="serving", settings=list(settings))
