"""The sensitivity of layers to low precision: a ranking of layer groups, and three points of it.

Sensitivity of a layer: the rise of the loss expected if its weights alone take low precision. By the best
that the file has, one definition for all layers:

- ``loss_increase``: as measured; a fall counts as none.
- ``hessian_trace``: mean trace x squared change of the weights (Dong et al., HAWQ-V2, NeurIPS 2020, eq. 1).
- ``fisher`` or ``gradient_norm``: the same with the mean squared gradient in the trace's place, the diagonal
  of the empirical Fisher matrix (Kim et al., SqueezeLLM, ICML 2024, section 3.1).
- ``output_error``, ``sqnr_db``, ``cosine``: noise over signal of the layer's output (Lin et al., Fixed Point
  Quantization of Deep Convolutional Networks, ICML 2016, section 3: the noise of layers adds up).
- the last resort: a trace, gradient or weight error alone, as if all else were equal; a note says so.

Sensitivities add up over layers (HAWQ-V2, eq. 2). Groups are ranked by the sum per weight that becomes
cheaper, so that every point of the ranking spends the least for what it saves (greedy knapsack; exact up to
the size of one group).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType

from ingest.layers.layer import Layer
from ingest.layers.layer_statistics import read_layers
from kg.errors import InputError, NoEvidenceError
from kg.nouns.codec import JsonNoun, in_json
from recommender.cost_model.facts.device import precision
from recommender.cost_model.settings.plans import GROUPS

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "norm": r"norm|(^|[._])(rms|ln_?\w{0,30}|bn\d{0,9})(\.|$)",
        "router": r"router|gating|(^|[._])gate(\.weight)?$",
        "embedding": r"embed|wte|wpe|token_table",
        "head": r"lm_?head|output_layer|classifier|(^|[._])(head|fc|score)(\.|$)|cls\.predictions",
        "attention": r"attn|attention|[qkvo]_proj|qkv|query|key|value|wq|wk|wv|wo\b",
        "mlp": r"mlp|ffn|feed_?forward|expert|fc\d|(up|down|gate)_proj|dense|w[123]\b|intermediate",
    }
)
"""Kinds of layers by what frameworks call them, the first that fits; anything else is a kind of its own."""
KEPT = frozenset({"norm", "router"})
"""Kinds that stay in high precision: no large matrix products, and few weights to gain by (HAWQ and the white
paper of Nagel et al. quantise matrix products and convolutions)."""
GROUPINGS = ("kind", "block", "layer")
_BLOCK = re.compile(r"(?:^|[._])(?:layers?|blocks?|h|stages?)[._](\d+)(?:[._]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Layers that change precision together.

    Attributes:
        name: ``"mlp"``, ``"block 3"``, or the layer's own.
        layers: Their names.
        sensitivity: Sum over the layers, in the unit of what it rests on; None where one was not collected.
        parameters: Weights; None where the file does not say.
        kept: Why it stays in high precision whatever the profile; empty if it may go down.
    """

    name: str
    layers: tuple[str, ...]
    sensitivity: float | None
    parameters: float | None
    kept: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityProfile:
    """One point of the ranking.

    Attributes:
        name: ``"ultra-high"``, ``"balanced"`` or ``"eco"``.
        low: Groups in low precision.
        high: Groups that stay.
        spent: Sum of the sensitivities of ``low``.
        spent_share: The same as a share of what eco spends; 0 where that is 0.
        saved_share: Share of the weights in low precision; of the groups, where the weights are not told.
        within_budget: Whether ``spent`` keeps the accuracy budget; None without one.
    """

    name: str
    low: tuple[str, ...]
    high: tuple[str, ...]
    spent: float
    spent_share: float
    saved_share: float
    within_budget: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """The ranking.

    Attributes:
        basis: What sensitivities rest on, in words.
        is_loss: Whether they are losses that were measured.
        groups: Least sensitive a weight first; those that stay in high precision at the end.
        profiles: Ultra-high, balanced, eco.
        notes: What was assumed or is missing.
    """

    basis: str
    is_loss: bool
    groups: tuple[Group, ...]
    profiles: tuple[SensitivityProfile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerSensitivity(JsonNoun):
    """The answer about a file of layers: the ranking, and the search space that walks it.

    Attributes:
        ranking: Groups of layers, least sensitive a weight first.
        low: The low precision.
        space: Parameters and constraints of a search file.
    """

    low: str
    ranking: Sensitivity = field(metadata=in_json(is_spread=True))
    space: Mapping[str, object]

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Parameters of the space that a search on the cost model does not know."""
        names = self.space["parameters"]
        return tuple(name for name in names if name not in GROUPS) if isinstance(names, dict) else ()


@dataclass(frozen=True, slots=True)
class _Method:
    """A definition: what it needs, and the sensitivity from that."""

    name: str
    needs: tuple[str, ...]
    of: Callable[[Mapping[str, float]], float]
    note: str = ""


_METHODS = (
    _Method("measured increase of the loss", ("loss_increase",), lambda v: max(v["loss_increase"], 0.0)),
    _Method(
        "Hessian trace x weight error",
        ("hessian_trace", "weight_error"),
        lambda v: max(v["hessian_trace"], 0.0) * v["weight_error"],
    ),
    _Method("Fisher x weight error", ("fisher", "weight_error"), lambda v: v["fisher"] * v["weight_error"]),
    _Method(
        "mean squared gradient x weight error",
        ("gradient_norm", "parameters", "weight_error"),
        lambda v: v["gradient_norm"] ** 2 / max(v["parameters"], 1.0) * v["weight_error"],
    ),
    _Method("output error", ("output_error",), lambda v: v["output_error"]),
    _Method("output noise over signal", ("sqnr_db",), lambda v: 10.0 ** (-v["sqnr_db"] / 10)),
    _Method("1 - cosine of outputs", ("cosine",), lambda v: 1.0 - v["cosine"]),
    _Method(
        "Hessian trace alone",
        ("hessian_trace",),
        lambda v: max(v["hessian_trace"], 0.0),
        "no weight error in the file: layers are ranked as if low precision changed the weights of all alike",
    ),
    _Method(
        "Fisher alone",
        ("fisher",),
        lambda v: v["fisher"],
        "no weight error in the file: layers are ranked as if low precision changed the weights of all alike",
    ),
    _Method(
        "squared gradient norm alone",
        ("gradient_norm",),
        lambda v: v["gradient_norm"] ** 2,
        "no weight error in the file: layers are ranked as if low precision changed the weights of all alike",
    ),
    _Method(
        "weight error alone",
        ("weight_error",),
        lambda v: v["weight_error"],
        "no gradients in the file: layers are ranked as if the loss felt a change of all weights alike",
    ),
)
"""Best first."""


def kind_of(layer: str) -> str:
    """The kind of a layer by its name: ``layers.3.self_attn.q_proj`` is ``attention``; ``other`` if none."""
    low = layer.lower()
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, low)), "other")


def rank_file(
    file: Path, *, grouping: str = "kind", low: str = "int8", budget: float | None = None
) -> LayerSensitivity:
    """Rank the layers of a file and write the space that a search can walk; as :func:`rank`.

    Args:
        file: Statistics by layer: CSV, JSON, or weights as safetensors.
        grouping: ``kind``, ``block`` or ``layer``.
        low: The low precision, such as ``int8``.
        budget: Loss that may be spent; None for any.
    """
    name = precision(low)
    ranking = rank(read_layers(file), grouping=grouping, budget=budget)
    written = space(ranking, low=name, source=file.name, budget=budget)
    return LayerSensitivity(ranking=ranking, low=name, space=written)


def rank(layers: Sequence[Layer], *, grouping: str = "kind", budget: float | None = None) -> Sensitivity:
    """Rank the groups of layers and choose the three profiles.

    Ultra-high keeps everything; eco lowers all that may go down; balanced is the point of the ranking where
    the share of weights saved is furthest above the share of sensitivity spent (the knee; Satopää et al.,
    Finding a Kneedle in a Haystack, ICDCSW 2011), or the last point that keeps ``budget``.

    Args:
        layers: What was collected.
        grouping: One of :data:`GROUPINGS`.
        budget: Loss that may be spent; needs measured losses.

    Raises:
        InputError: No such grouping; a budget without measured losses.
        NoEvidenceError: No statistic covers half of the layers that may go down.
    """
    if grouping not in GROUPINGS:
        raise InputError(f"no grouping {grouping!r}", hint=f"one of: {', '.join(GROUPINGS)}")
    lowered = [layer for layer in layers if kind_of(layer.name) not in KEPT]
    method, scores = _scores(lowered)
    is_loss = method is _METHODS[0]
    if budget is not None and not is_loss:
        raise InputError(
            f"a budget is a loss, and the file has none: it tells {method.name}",
            hint="measure loss_increase layer by layer, or leave the budget out",
        )
    notes = [method.note] if method.note else []
    missing = [layer.name for layer in lowered if layer.name not in scores]
    if missing:
        notes.append(
            f"{len(missing)} layers without {method.needs[0]} stay in high precision: {_some(missing)}"
        )
    groups = _groups(layers, scores, grouping)
    open_ = [group for group in groups if not group.kept]
    by_weight = all(group.parameters for group in open_)
    if not by_weight:
        notes.append("no numbers of weights given: all groups count alike")
    order = sorted(open_, key=lambda group: (_price(group, by_weight=by_weight), group.name))
    rest = sorted((group for group in groups if group.kept), key=lambda group: group.name)
    ranked = (*order, *rest)
    return Sensitivity(
        basis=method.name,
        is_loss=is_loss,
        groups=ranked,
        profiles=_profiles(ranked, len(order), budget, by_weight=by_weight),
        notes=tuple(notes),
    )


def space(ranking: Sensitivity, *, low: str, source: str, budget: float | None = None) -> dict[str, object]:
    """Parameters and constraints with which a search walks the ranking and nothing else.

    One parameter a group, ``precision_mlp`` and the like, either ``same`` (as the rest) or ``low``; a group
    may only go down if the less sensitive one before it has. n groups are n + 1 configurations, not 2**n.

    Args:
        ranking: The ranking.
        low: Name of the low precision.
        source: Where the statistics are from.
        budget: Loss that may be spent.
    """
    open_ = [group for group in ranking.groups if not group.kept]
    names = [f"precision_{re.sub(r'[^0-9a-z]+', '_', group.name.lower()).strip('_')}" for group in open_]
    losses = {
        name: {low: {"loss": group.sensitivity, "source": source} if ranking.is_loss else "unknown"}
        for name, group in zip(names, open_, strict=True)
    }
    constraints = [
        {
            "expression": f"{after} == 'same' or {before} == {low!r}",
            "reason": f"{before} is less sensitive per weight",
            "source": source,
        }
        for before, after in pairwise(names)
    ]
    written: dict[str, object] = {
        "parameters": {name: ["same", low] for name in names},
        "constraints": constraints,
        "accuracy": losses,
    }
    return written if budget is None else {**written, "limits": [f"accuracy_loss<={budget:.6g}"]}


def _scores(layers: Sequence[Layer]) -> tuple[_Method, dict[str, float]]:
    """The best definition that covers at least half of the layers, and its values."""
    for method in _METHODS:
        told = [layer for layer in layers if all(name in layer.values for name in method.needs)]
        if told and 2 * len(told) >= len(layers):
            return method, {layer.name: method.of(layer.values) for layer in told}
    raise NoEvidenceError(
        "no statistic covers half of the layers that may take low precision",
        hint="collect one for all: loss_increase, gradient_norm, output_error (docs/sensitivity.md)",
    )


def _groups(layers: Iterable[Layer], scores: Mapping[str, float], grouping: str) -> list[Group]:
    members: dict[tuple[str, str], list[Layer]] = {}
    for layer in layers:
        kind = kind_of(layer.name)
        if kind in KEPT:
            members.setdefault((kind, f"{kind}: no large matrix product"), []).append(layer)
        elif layer.name not in scores:
            members.setdefault(("not collected", "not collected"), []).append(layer)
        else:
            members.setdefault((_group_name(layer.name, kind, grouping), ""), []).append(layer)
    found = []
    for (name, kept), own in members.items():
        sizes = [layer.values.get("parameters") for layer in own]
        known = [size for size in sizes if size is not None]
        found.append(
            Group(
                name=name,
                layers=tuple(layer.name for layer in own),
                sensitivity=None if kept else sum(scores[layer.name] for layer in own),
                parameters=sum(known) if len(known) == len(own) else None,
                kept=kept,
            )
        )
    return found


def _group_name(layer: str, kind: str, grouping: str) -> str:
    if grouping == "layer":
        return layer
    if grouping == "block" and (block := _BLOCK.search(layer)):
        return f"block {int(block.group(1))}"
    return kind


def _price(group: Group, *, by_weight: bool) -> float:
    return (group.sensitivity or 0.0) / ((group.parameters or 1.0) if by_weight else 1.0)


def _profiles(
    ranked: Sequence[Group], count: int, budget: float | None, *, by_weight: bool
) -> tuple[SensitivityProfile, ...]:
    """The three profiles of a ranking whose first ``count`` groups may go down."""
    sizes = [(group.parameters or 0.0) if by_weight else 1.0 for group in ranked[:count]]
    every = sum((group.parameters or 0.0) if by_weight else 1.0 for group in ranked)
    spent, saved = [0.0], [0.0]
    for group, size in zip(ranked, sizes, strict=False):
        spent.append(spent[-1] + (group.sensitivity or 0.0))
        saved.append(saved[-1] + size)
    whole, most = spent[-1] or 1.0, saved[-1] or 1.0

    def profile(name: str, k: int) -> SensitivityProfile:
        return SensitivityProfile(
            name=name,
            low=tuple(group.name for group in ranked[:k]),
            high=tuple(group.name for group in ranked[k:]),
            spent=spent[k],
            spent_share=spent[k] / whole,
            saved_share=saved[k] / every if every else 0.0,
            within_budget=None if budget is None else spent[k] <= budget,
        )

    if budget is not None:
        middle = max(k for k in range(count + 1) if spent[k] <= budget)
    else:
        middle = max(range(count + 1), key=lambda k: (saved[k] / most - spent[k] / whole, k))
    return profile("ultra-high", 0), profile("balanced", middle), profile("eco", count)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
