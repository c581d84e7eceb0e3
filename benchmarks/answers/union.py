"""Union of two exports against a merge: a hundred questions to stores of others, and the shapes.

    python -m benchmarks.answers.union [--questions 100] [--folder FOLDER]

Two workspaces of the shipped knowledge are made a moment apart; each takes in half of the shipped cases of
effects again under a source of its own, so that they share knowledge and differ in evidence. Their exports are
loaded into one store of pyoxigraph, which is asked the named queries; the same
is asked of the export of the one after ``workspace merge`` of the other. Printed: equal answers, and violations; the seed
draws the questions.
"""

import json
import random
import tempfile
import time
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

import pyoxigraph
from pyoxigraph import NamedNode

import data
from benchmarks import harness
from kg.triples import nodes
from kg.triples.iris import name_of
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.queries import query_named, text_of
from kg.triples.validation import validate
from kg.triples.vocabulary import RDF_TYPE, TG
from recommender.workspace.workspace import Workspace

EFFECTS = "cases/effects.jsonl"


def main() -> None:
    """Make the workspaces, ask, and print."""
    arguments = harness.read(
        __doc__,
        harness.option("--questions", type=int, default=100),
        harness.option(
            "--folder", type=Path, help="where to keep the workspaces; a temporary folder if none"
        ),
        quick="without the shapes",
        published=25,
    )
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        one, other = (made(folder, name, part) for part, name in enumerate(("one", "other")))
        both = load([exported(one), exported(other)])
        with Workspace.open(one, cache=folder / "cache") as workspace:
            workspace.knowledge.merge(other)
        merged = load([exported(one)])
    print(f"union {len(both):,} triples, merge {len(merged):,}")
    asked = questions(both, arguments.questions, arguments.random())
    differing = [one for one in asked if answers(both, *one) != answers(merged, *one)]
    equal = len(asked) - len(differing)
    filled = sum(bool(answers(both, *question)) for question in asked)
    print(
        f"{equal} of {len(asked)} answers equal, {filled} of them not empty; differing: {differing or 'none'}"
    )
    start = time.monotonic()
    faults = None if arguments.quick else validate(both.triples())
    if faults is not None:
        spent = time.monotonic() - start
        print(f"{len(faults)} violations of the shapes in {spent:.0f} s", *faults[:5], sep="\n")
    arguments.last_line(
        {
            "equal": harness.mean(one not in differing for one in asked),
            "filled": filled,
            "violations": None if faults is None else len(faults),
        },
        n=len(asked),
    )


def made(folder: Path, name: str, part: int) -> Path:
    """A workspace of what ships, and half of the effects again from a source of its own."""
    path = folder / name
    if not Workspace.exists(path):
        Workspace.create(path, cache=folder / "cache", text_model=None)
        records = [json.loads(line) for line in data.text(EFFECTS).splitlines()]
        own = folder / f"{name}.jsonl"
        with own.open("w") as stream:
            for record in records[part::2]:
                stream.write(json.dumps(record | {"source": {"title": f"Tests of {name}"}}) + "\n")
                outcome = record["outcome"] | {"value": record["outcome"]["value"] * (1.01 + part / 100)}
                stream.write(json.dumps(record | {"source": {"title": name}, "outcome": outcome}) + "\n")
        with Workspace.editor(path, cache=folder / "cache") as editor:
            editor.ingest([own])
    return path


def exported(path: Path) -> Path:
    """The export of a workspace."""
    out = path.with_suffix(".nq")
    with Workspace.open(path, cache=path.parent / "cache") as workspace:
        workspace.knowledge.export(out, force=True)
    return out


def load(paths: Iterable[Path]) -> OxigraphStore:
    """The exports in one store, by pyoxigraph's own loader."""
    outside = pyoxigraph.Store()
    for path in paths:
        outside.bulk_load(path=str(path), format=pyoxigraph.RdfFormat.N_QUADS)
    store = OxigraphStore()
    store.bulk_extend(quad.triple for quad in outside)
    return store


def questions(store: OxigraphStore, count: int, rng: random.Random) -> list[tuple[str, dict[str, str]]]:
    """Named queries with things of the graph, every effect's place among them, in a drawn order."""
    places = sorted(_places(store))
    kinds: dict[str, list[dict[str, str]]] = {
        "effects": [{"bottleneck": bottleneck, "hardware": hardware} for bottleneck, hardware in places],
        "strategies-against": [{"bottleneck": name} for name in _names(store, TG.BOTTLENECK)],
        "strategy-relations": [{"strategy": name} for name in _names(store, TG.STRATEGY)],
        "strategy-scope": [{"strategy": name} for name in _names(store, TG.STRATEGY)],
        "cause-chain": [{"bottleneck": name} for name in _names(store, TG.BOTTLENECK)],
        "hardware-facts": [{"hardware": name} for name in _names(store, TG.HARDWARE_PROFILE)],
        "models-of-family": [{"family": name} for name in _names(store, TG.MODEL_FAMILY)],
        "problems-on-hardware": [{"hardware": name} for name in _names(store, TG.HARDWARE_PROFILE)],
        "problems-of-operator": [
            {"operator": name} for name in sorted({t.value for t in nodes.literals(store, None, TG.OPERATOR)})
        ],
        "kinds": [{}],
        "disagreements": [{}],
        "sources": [{}],
    }
    for items in kinds.values():
        rng.shuffle(items)
    rounds = zip_longest(*([(name, item) for item in items] for name, items in kinds.items()))
    return [question for turn in rounds for question in turn if question is not None][:count]


def answers(store: OxigraphStore, name: str, given: dict[str, str]) -> list[tuple[str | None, ...]]:
    """The rows of a query, in an order of their own; when it was taken in is no answer."""
    query = query_named(name)
    kept = [place for place, column in enumerate(query.columns) if column != "last_evidence"]
    rows = [tuple(None if t is None else text_of(t) for t in row) for row in query.run(store, given)]
    return sorted((tuple(row[place] for place in kept) for row in rows), key=str)


def _names(store: OxigraphStore, term: NamedNode) -> list[str]:
    return sorted(name_of(node) for node in nodes.subjects(store, RDF_TYPE, term))


def _places(store: OxigraphStore) -> set[tuple[str, str]]:
    found = store.select(
        "PREFIX tg: <https://w3id.org/tunegraph/ns#> SELECT ?b ?h { ?c tg:bottleneck ?b ; tg:hardware ?h ; "
        "tg:hasEffect ?e }"
    )
    return {(text_of(b), text_of(h)) for b, h in found if b is not None and h is not None}


if __name__ == "__main__":
    main()
