"""Makes ``data/retrieval/text_projection.*``: the directions along which texts about tuning differ.

    python -m tools.fitting.fit_text_projection --models CACHE [--write]

Texts are put together from the shipped knowledge alone (operators, models, hardware, bottlenecks,
objectives), so no case decides what is kept. Principal components of half the texts are compared, on
the other half, with signs drawn by hash: share of the ten nearest texts that stay the ten nearest.
"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import data
from benchmarks.harness import option, parse
from embeddings.encoder import TEXT_WIDTH, Projection, words
from embeddings.onnx_export import export
from embeddings.text_encoder import OnnxTextEncoder
from ingest.knowledge.files import read_knowledge
from kg.nouns.entities import Better, Hardware, Objective, Problem, Workload, WorkloadKind
from kg.nouns.knowledge import Bottleneck, HardwareProfile, Model
from kg.nouns.values import Settings
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.serialisation import to_triples

TEXTS = 3000
SEED = 0
OPERATORS = {
    WorkloadKind.TRAINING: ("train", "pretrain", "finetune"),
    WorkloadKind.SERVING: ("llm_serve", "llm_generate", "image_generation"),
    WorkloadKind.OPERATOR: ("gemm", "moe_layer", "context_attention", "layer_norm", "all_reduce", "softmax"),
    WorkloadKind.KERNEL: ("fused_moe", "convolution", "gemm_a8w8", "paged_attention", "transpose", "reduce"),
}
METRICS = (("latency", Better.LOWER), ("throughput", Better.HIGHER), ("energy", Better.LOWER))


def texts_of(tree: HardwareTree, nouns: list[object], rng: np.random.Generator) -> list[str]:
    """Distinct texts of problems drawn from the shipped knowledge."""
    hardware = [noun.id for noun in nouns if isinstance(noun, HardwareProfile)]
    models = [noun.id for noun in nouns if isinstance(noun, Model)]
    bottlenecks = [noun.id for noun in nouns if isinstance(noun, Bottleneck)]
    found = set()
    for _ in range(TEXTS):
        kind = list(OPERATORS)[rng.integers(len(OPERATORS))]
        whole_model = kind in {WorkloadKind.TRAINING, WorkloadKind.SERVING}
        metric, better = METRICS[rng.integers(len(METRICS))]
        seen = rng.choice(bottlenecks, size=rng.integers(3), replace=False)
        problem = Problem(
            workload=Workload(
                kind=kind,
                operator=OPERATORS[kind][rng.integers(len(OPERATORS[kind]))],
                model=models[rng.integers(len(models))] if whole_model else None,
            ),
            hardware=Hardware(name=hardware[rng.integers(len(hardware))]),
            objective=Objective(metric=metric, better=better),
            bottlenecks=Settings({str(name): None for name in seen}),
        )
        found.add(words(problem, tree))
    return sorted(found)


def principal(vectors: NDArray[np.float32], width: int) -> Projection:
    """The mean of vectors and the directions along which they differ most."""
    mean = vectors.mean(axis=0)
    directions = np.linalg.svd(vectors - mean, full_matrices=False)[2][:width]
    # The sign of a component is arbitrary; fix it so that the file is the same wherever it is made.
    directions *= np.sign(directions[np.arange(width), np.abs(directions).argmax(axis=1)])[:, None]
    return Projection(mean=mean.astype(np.float32), directions=directions.T.astype(np.float32))


def overlap(full: NDArray[np.float32], short: NDArray[np.float32], k: int = 10) -> float:
    """Mean share of the k nearest that two versions of the same vectors have in common."""
    one, other = nearest(full, k), nearest(short, k)
    return float(np.mean([len(set(a) & set(b)) / k for a, b in zip(one, other, strict=True)]))


def nearest(vectors: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """Rows of the k nearest of each vector, itself left out."""
    squares = (vectors**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * vectors @ vectors.T
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1)[:, :k]


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    arguments = parse(
        __doc__,
        option("--models", type=Path, required=True, help="cache directory of text models"),
        option("--write", action="store_true", help="write the files into data/retrieval"),
    )
    export(arguments.models)
    encoder = OnnxTextEncoder(arguments.models)
    files = [*data.files("hardware", ".yaml"), *data.files("models", ".yaml"), "knowledge/bottlenecks.yaml"]
    nouns: list[object] = [noun for name in files for noun in read_knowledge(data.text(name), name)]
    store = GraphStore()
    store.extend(triple for noun in nouns if isinstance(noun, HardwareProfile) for triple in to_triples(noun))
    rng = np.random.default_rng(SEED)
    texts = texts_of(HardwareTree(store), nouns, rng)
    vectors = encoder.encode(texts)
    half = rng.permutation(len(texts)) < len(texts) // 2
    fitted, asked = vectors[half], vectors[~half]
    report = {
        "texts": len(texts),
        "width": TEXT_WIDTH,
        "overlap_at_10_principal": round(overlap(asked, principal(fitted, TEXT_WIDTH).apply(asked)), 3),
        "overlap_at_10_drawn": round(overlap(asked, Projection.draw(encoder.dimension).apply(asked)), 3),
    }
    print(json.dumps(report, indent=2))
    if arguments.write:
        made = principal(vectors, TEXT_WIDTH)
        header = {
            "what": "principal components of text vectors: the mean, then the directions, rows of float32",
            "encoder_hash": encoder.hash,
            "dimension": encoder.dimension,
            "made_by": "tools/fitting/fit_text_projection.py",
            "measured": report,
        }
        folder = Path(__file__).parents[2] / "data" / "retrieval"
        table = np.vstack([made.mean[None, :], made.directions.T]).astype("<f4")
        (folder / "text_projection.f32").write_bytes(table.tobytes())
        (folder / "text_projection.json").write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
