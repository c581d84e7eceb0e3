"""What vectors and their index cost, and whether the index finds what exact search finds.

    python -m benchmarks.speed.vectors --cases DIR --models CACHE [--devices 5]

CPU seconds of this process. ``withheld`` leaves the rows of one device out of the index and asks about
its problems: recall at 50 against exact search, mean and worst question.
"""

import json
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import data
from benchmarks import harness
from embeddings.encoder import ProblemEncoder
from embeddings.index import INDEX_NAME, ProblemIndex
from embeddings.onnx_export import export
from embeddings.text_cache import CachedTextEncoder, TextCache
from embeddings.text_encoder import OnnxTextEncoder
from ingest.knowledge.files import read_knowledge
from ingest.reading import read
from kg.nouns.entities import Case, Problem
from kg.triples.hardware_tree import HardwareTree
from kg.triples.names import Names
from kg.triples.oxigraph_store import OxigraphStore
from kg.triples.serialisation import to_triples

K = 50
QUESTIONS = 300
BATCH = 5000


def cpu_s(since: float) -> float:
    return round(time.process_time() - since, 2)


def fill(folder: Path, encoder: ProblemEncoder, vectors: NDArray[np.float32]) -> ProblemIndex:
    index = ProblemIndex(folder, encoder.dimension, encoder.hash)
    for batch, start in enumerate(range(0, len(vectors), BATCH)):
        part = vectors[start : start + BATCH]
        index.append(np.arange(start + 1, start + 1 + len(part)), batch, part)
    return index


def search_ms(index: ProblemIndex, asked: NDArray[np.float32]) -> dict[str, float]:
    index.search(asked[0], K)
    spent = []
    for vector in asked:
        since = time.process_time()
        index.search(vector, K)
        spent.append(1e3 * (time.process_time() - since))
    return {"p50": round(float(np.median(spent)), 3), "p95": round(float(np.percentile(spent, 95)), 3)}


def recall(index: ProblemIndex, vectors: NDArray[np.float32], asked: NDArray[np.float32]) -> list[float]:
    """Share of the K nearest found; a row as near as the true one counts as it."""
    shares = []
    for vector in asked:
        exact = np.sort(((vectors - vector) ** 2).sum(axis=1))[:K]
        found = index.search(vector, K).distances ** 2
        shares.append(float(np.mean(found <= exact[-1] * (1 + 1e-4) + 1e-5)))
    return shares


def main() -> None:
    arguments = harness.read(
        __doc__,
        harness.place("--cases", "--known", help="folder of case JSONL files"),
        harness.option("--models", type=Path, required=True, help="cache directory of text models"),
        harness.option(
            "--devices", type=int, default=5, help="devices to withhold, those with most problems"
        ),
    )
    export(arguments.models)
    store = OxigraphStore()
    for name in [*data.files("hardware", ".yaml"), *data.files("models", ".yaml")]:
        for noun in read_knowledge(data.text(name), name):
            store.extend(to_triples(noun))
    tree = HardwareTree(store)
    found: dict[str, Problem] = {}
    for item in read([arguments.cases], Names(store, tree)):
        if isinstance(item, Case):
            found.setdefault(item.problem.id, item.problem)
    problems = list(found.values())
    rng = arguments.rng()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        texts = CachedTextEncoder(OnnxTextEncoder(arguments.models), TextCache(folder / "texts.sqlite3"))
        encoder = ProblemEncoder(tree, texts)
        figures: dict[str, object] = {"problems": len(problems), "dimension": encoder.dimension}
        for what in ("encode_new_texts_s", "encode_cached_texts_s"):
            since = time.process_time()
            vectors = encoder.encode(problems)
            figures[what] = cpu_s(since)
        since = time.process_time()
        index = fill(folder, encoder, vectors)
        figures["append_s"] = cpu_s(since)
        since = time.process_time()
        index.catch_up()
        figures["build_s"] = cpu_s(since)
        figures["manifest"] = json.loads((folder / INDEX_NAME / "manifest.json").read_text(encoding="utf-8"))
        since = time.process_time()
        index.verify()
        figures["verify_s"] = cpu_s(since)
        asked = vectors[rng.integers(len(vectors), size=QUESTIONS)]
        asked = asked + rng.normal(0, 0.02, asked.shape).astype(np.float32)
        figures["search_ms"] = search_ms(index, asked)
        figures["recall"] = round(float(np.mean(recall(index, vectors, asked[:100]))), 4)
        devices = np.array([problem.hardware.name for problem in problems])
        withheld = {}
        for device, _ in Counter(devices.tolist()).most_common(arguments.devices):
            left, mine = vectors[devices != device], vectors[devices == device]
            with tempfile.TemporaryDirectory() as other:
                without = fill(Path(other), encoder, left)
                without.catch_up()
                shares = recall(without, left, mine[rng.permutation(len(mine))[:100]])
            withheld[device] = {"mean": round(float(np.mean(shares)), 4), "worst": round(min(shares), 2)}
        figures["withheld"] = withheld
    arguments.last_line(figures)


if __name__ == "__main__":
    main()
