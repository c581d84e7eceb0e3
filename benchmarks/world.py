"""Known cases in temporary stores, as a workspace holds them, with what the benchmarks ask of them."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import data
from embeddings.encoder import ProblemEncoder
from ingest.knowledge.files import read_knowledge
from ingest.reading import read
from kg.nouns.entities import Case, Problem
from kg.rows.trial_rows import Trial
from kg.rows.trials import TrialStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.names import Names
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import to_triples

ROOT = Path(__file__).parent.parent
_BATCH = 20_000


@dataclass
class World:
    """One folder of cases.

    Attributes:
        folder: Where its stores are.
        problems: Problems by key.
        corpora: Corpus (file) of each problem.
        vectors: One row a key, in the order of ``keys``.
    """

    folder: Path
    tree: HardwareTree
    encoder: ProblemEncoder
    problems: dict[int, Problem] = field(default_factory=dict)
    corpora: dict[int, str] = field(default_factory=dict)
    keys: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    vectors: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def trials(self) -> TrialStore:
        return TrialStore(self.folder / "trials.sqlite3", read_only=True)


def knowledge() -> HardwareTree:
    """The shipped hardware and models in an in-memory graph."""
    graph = OxigraphStore(None)
    root = Path(data.__file__).parent
    for path in sorted([*root.glob("hardware/*.yaml"), *root.glob("models/*.yaml")]):
        for noun in read_knowledge(path.read_text(encoding="utf-8"), path.name):
            graph.extend(to_triples(noun))
    tree = HardwareTree(graph)
    tree.names = Names(graph, tree)  # type: ignore[attr-defined]
    return tree


def sampled(name: str, share: float) -> bool:
    """Whether a deterministic sample of this share holds ``name``."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) < share * 2**32


def load(source: Path, folder: Path, tree: HardwareTree, share_of: dict[str, float]) -> World:
    """Read every file of a folder of cases into stores under ``folder``.

    Args:
        source: Folder of cases.
        folder: Where the stores go.
        tree: Shipped knowledge.
        share_of: Share of tasks to keep by corpus; "*" for the others; 0 leaves the file out.
    """
    folder.mkdir(parents=True)
    world = World(folder, tree, ProblemEncoder(tree, None))
    with TrialStore(folder / "trials.sqlite3") as trials:
        for path in sorted(source.iterdir()) if source.is_dir() else [source]:
            corpus = path.name.split(".")[0]
            share = share_of.get(corpus, share_of.get("*", 1.0))
            if share and path.suffix in {".gz", ".jsonl", ".json"}:
                _read(path, corpus, share, world, trials)
    world.keys = np.array(sorted(world.problems), np.int64)
    ordered = [world.problems[int(key)] for key in world.keys]
    world.vectors = world.encoder.encode(ordered) if ordered else np.zeros((0, 1), np.float32)
    return world


def _read(path: Path, corpus: str, share: float, world: World, trials: TrialStore) -> None:
    waiting: dict[int, tuple[Problem, list[Trial]]] = {}
    kept: dict[int, tuple[Problem, bool]] = {}

    def flush() -> None:
        with trials.transaction():
            for problem, rows in waiting.values():
                trials.add(1, problem, rows)
                key = trials.problem_key(problem.id)
                assert key is not None
                world.problems[key] = problem
                world.corpora[key] = corpus
        waiting.clear()

    number = 0
    for item in read([path], world.tree.names):  # type: ignore[attr-defined]
        if not isinstance(item, Case):
            continue
        problem = item.problem
        if id(problem) not in kept:
            kept[id(problem)] = (problem, share >= 1 or sampled(problem.task_id, share))
        if not kept[id(problem)][1]:
            continue
        waiting.setdefault(id(problem), (problem, []))[1].append(Trial.of(item))
        number += 1
        if number % _BATCH == 0:
            flush()
    flush()


def by_family(world: World) -> dict[tuple[str, str, str], list[int]]:
    """Keys by corpus, operator and metric."""
    families: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for key, problem in world.problems.items():
        families[world.corpora[key], problem.workload.operator, problem.objective.metric].append(key)
    return dict(families)
