"""Variance components of gains, fitted."""

from pathlib import Path

import numpy as np
import pytest

from kg.errors import WorkspaceError
from kg.nouns.effects import Context, Effect
from kg.nouns.entities import Kind
from kg.nouns.knowledge import HardwareProfile, Level
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import to_triples
from recommender.evolution.components import fit_components, load
from recommender.ranking.changes.posterior import EQUAL


@pytest.fixture(scope="module")
def tree() -> HardwareTree:
    graph = GraphStore()
    for vendor in ("one", "two"):
        nouns = [HardwareProfile(id=vendor, labels={"en": vendor}, level=Level.VENDOR)]
        nouns += [
            HardwareProfile(id=f"{vendor}-{number}", labels={"en": "x"}, level=Level.DEVICE, broader=vendor)
            for number in range(4)
        ]
        for noun in nouns:
            graph.extend(to_triples(noun))
    return HardwareTree(graph)


@pytest.mark.parametrize("by", ["hardware", "family", "own"])
def test_shares_follow_what_gains_differ_by(tree: HardwareTree, by: str) -> None:
    rng = np.random.default_rng(4)
    effects = []
    for number in range(40):
        deviations: dict[object, float] = {}
        for device in ("one-0", "one-1", "two-0", "two-1"):
            for family in ("bert", "llama", "resnet"):
                key = {"hardware": device, "family": family, "own": (device, family)}[by]
                deviation = deviations.setdefault(key, float(rng.normal(0, 0.3)))
                context = Context(hardware=device, family=family)
                effect = Effect(context=context, strategy=f"s{number}", metric="m", kind=Kind.MEASURED)
                effects.append(effect.add([deviation + float(rng.normal(0, 0.01)) for _ in range(4)]))
    shares = fit_components(effects, tree)
    assert max(("hardware", "family", "own"), key=lambda name: getattr(shares, name)) == by
    assert getattr(shares, by) > 0.6


def test_without_evidence_shares_stay_equal(tree: HardwareTree, tmp_path: Path) -> None:
    lone = Effect(context=Context(hardware="one-0"), strategy="s", metric="m", kind=Kind.MEASURED).add([0.1])
    assert fit_components([], tree) == fit_components([lone], tree) == EQUAL
    assert load(tmp_path / "components.json") == EQUAL
    for text in ("{", "[]", '{"hardware": 1, "family": 1, "own": 1}', '{"hardware": "x"}'):
        (tmp_path / "components.json").write_text(text)
        with pytest.raises(WorkspaceError, match="damaged"):
            load(tmp_path / "components.json")
