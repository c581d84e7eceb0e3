"""Facts of the shipped hardware and models for benchmarks, read from their files."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from recommender.cost_model.facts.model import ModelSizes, model_of
from recommender.cost_model.question import Machine, machine

DATA = Path(__file__).resolve().parent.parent / "data"
A2 = ("ascend-910b1", 8, "atlas-800t-a2")
"""Device, count and server of the Ascend machine that most public measurements are of."""
A3 = ("ascend-910c", 16, "atlas-800t-a3")


class NotExpressibleError(Exception):
    """What a row leaves out."""


class Knowledge:
    """Facts of the shipped hardware and models, read from their files."""

    def __init__(self) -> None:
        self.hardware: dict[str, dict[str, object]] = {}
        for path in sorted((DATA / "hardware").glob("*.yaml")):
            for node in yaml.safe_load(path.read_text(encoding="utf-8"))["hardware"]:
                self.hardware[node["id"]] = node
        self.models: dict[str, dict[str, object]] = {}
        for path in sorted((DATA / "models").glob("*.yaml")):
            for node in yaml.safe_load(path.read_text(encoding="utf-8"))["models"]:
                names = [node["id"], node["label"]["en"], *node.get("aliases", [])]
                for name in names:
                    self.models.setdefault(plain(name), node)

    def facts(self, name: str) -> dict[str, float | str]:
        found: dict[str, float | str] = {}
        at: str | None = name
        while at:
            node = self.hardware[at]
            for fact, entry in (node.get("facts") or {}).items():  # type: ignore[attr-defined]
                found.setdefault(fact, entry["value"])
            at = node.get("broader")  # type: ignore[assignment]
        return found

    def machine(self, device: str, count: int, server: str) -> Machine:
        return machine(
            device, self.facts(device), count=count, server=server, server_facts=self.facts(server)
        )

    def model(self, text: str) -> ModelSizes:
        short = re.sub(r"(id\d+)?forpytorch$", "", plain(text.rsplit("/", 1)[-1]))
        for name in (short, re.sub(r"(w8a8.*|w4a8|bf16|a3)$", "", short)):
            if name in self.models:
                node = self.models[name]
                facts = {k: v["value"] for k, v in (node.get("facts") or {}).items()}  # type: ignore[attr-defined]
                return model_of(str(node["id"]), str(node["architecture"]), facts)
        raise NotExpressibleError("model not in the graph")


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())
