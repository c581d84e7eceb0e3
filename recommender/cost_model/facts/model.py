"""The sizes of a model that the cost model uses, from the facts of the graph.

Unknown sizes are refused by name when a workload needs them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from kg.errors import MissingFactError
from recommender.cost_model.facts.physics import PHYSICS

ROTARY_SIZE = 64.0
"""Elements of a compressed row that hold its position (DeepSeek-V2 and all that took its attention over)."""

NETWORK = "network"
"""Kind of a network that is known by its operations alone."""

DECODERS = frozenset({"decoder", "moe-decoder", "encoder-decoder", "multimodal"})


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """Sizes of a transformer, or the operations of a network that is none.

    Attributes:
        id: Model id.
        layers: Blocks; 0 for a network described by ``flops_per_sample`` alone.
        hidden: Width.
        inner: Width of the feed-forward part.
        heads: Attention heads.
        kv_heads: Key and value heads.
        head_size: Width of a head.
        vocabulary: Tokens of the vocabulary; 0 without one.
        matrices: Feed-forward matrices: 3 where gated (SwiGLU), else 2.
        experts: Routed experts; 0 if dense.
        chosen: Experts a token chooses.
        shared: Experts every token passes.
        expert_inner: Width of an expert.
        kv_width: Elements cached per token and layer.
        flops_per_sample: Forward operations of one sample, for networks without layers here.
        known_parameters: Parameters as documented; 0 if unknown.
        causal: Whether a position sees only earlier ones.
        encodes: Whether it reads a text in one pass and answers with a vector or a class, not with tokens.
        tokens_per_image: Patches of an image and the class token; 0 if it reads text.
        latent: Whether the cache is one compressed row per token (multi-head latent attention).
        query_rank: Width that queries are compressed to; 0 if they are not.
        query_size: Width of a head of queries and keys, where it differs from ``value_size``; else 0.
        value_size: Width of a head of values there.
        dense_layers: First blocks with a dense feed-forward part in a model with experts.
        window: Positions that a block with a sliding window sees.
        window_layers: Such blocks.
        linear_layers: Blocks with linear attention, whose state does not grow.
        linear_state: Rows of that state: the width of its keys.
        linear_heads: Heads of its values, each with a state of its own; 0 if unknown.
        linear_keys: Width of its keys, all heads together.
        linear_value_size: Width of a head of its values.
        attended: Positions that a query chooses (sparse attention); 0 if it sees all.
        index_width: Elements a position has for that choice, all index heads together.
        index_heads: Heads of the index.
        index_layers: Blocks that have one; the others take the choice of the block before.
        activations: Elements written for a sample, for networks without layers here; 0 if unknown.
        sees: Whether it reads pictures too: what no block explains is a tower for them.
    """

    id: str
    layers: float = 0.0
    hidden: float = 0.0
    inner: float = 0.0
    heads: float = 0.0
    kv_heads: float = 0.0
    head_size: float = 0.0
    vocabulary: float = 0.0
    matrices: float = 0.0
    experts: float = 0.0
    chosen: float = 0.0
    shared: float = 0.0
    expert_inner: float = 0.0
    kv_width: float = 0.0
    flops_per_sample: float = 0.0
    known_parameters: float = 0.0
    causal: bool = False
    tokens_per_image: float = 0.0
    encodes: bool = False
    latent: bool = False
    query_rank: float = 0.0
    query_size: float = 0.0
    value_size: float = 0.0
    dense_layers: float = 0.0
    window: float = 0.0
    window_layers: float = 0.0
    linear_layers: float = 0.0
    linear_state: float = 0.0
    linear_heads: float = 0.0
    linear_keys: float = 0.0
    linear_value_size: float = 0.0
    attended: float = 0.0
    index_width: float = 0.0
    index_heads: float = 0.0
    index_layers: float = 0.0
    activations: float = 0.0
    sees: bool = False

    @property
    def kind(self) -> str:
        """Kind of network as measured steps tell them apart: dense or with experts, and its attention."""
        if not self.layers:
            return NETWORK
        attention = " latent" * self.latent + " linear" * bool(self.linear_layers)
        return ("experts" if self.experts else "dense") + attention

    @property
    def is_gated(self) -> bool:
        """True if a gate is among the feed-forward matrices; norms of blocks without one are one kernel."""
        return self.matrices > 2

    @property
    def is_linear(self) -> bool:
        """True if a block has linear attention of known sizes."""
        return bool(self.linear_layers and self.linear_heads)

    @property
    def is_indexed(self) -> bool:
        """True if a block selects the rows to attend to by an index of its own, over compressed rows."""
        return bool(self.attended and self.latent and self.index_layers)

    @property
    def linear_values(self) -> float:
        """Width of the values of linear attention, all heads together."""
        return self.linear_heads * self.linear_value_size

    @property
    def linear_input(self) -> float:
        """Columns of the products before linear attention.

        Queries, keys, values, their gate and two numbers a head, as in ``Qwen3NextGatedDeltaNet``
        (transformers, modeling_qwen3_next.py).
        """
        return 2 * (self.linear_keys + self.linear_values + self.linear_heads)

    @property
    def attention_parameters(self) -> float:
        """Parameters of the projections around the attention of a block, the mean over all."""
        return sum(count * block.own_attention_parameters for count, block in blocks_of(self)) / self.layers

    @property
    def own_attention_parameters(self) -> float:
        """The same of a block as it is."""
        if self.is_linear:
            return self.hidden * (self.linear_input + self.linear_values)
        if not self.query_size:
            return self.hidden * self.head_size * (2 * self.heads + 2 * self.kv_heads)
        queries = self.heads * self.query_size
        queries *= self.query_rank or self.hidden
        up = self.kv_rank * self.heads * (self.query_size - ROTARY_SIZE + self.value_size)
        return (
            self.hidden * (self.query_rank + self.kv_width)
            + queries
            + up
            + self.heads * self.value_size * self.hidden
        )

    @property
    def kv_rank(self) -> float:
        """Width of the compressed row of a token without its rotary part."""
        return self.kv_width - ROTARY_SIZE

    @property
    def embeddings(self) -> float:
        """Matrices of the vocabulary: 2 where more parameters are documented than one of them explains."""
        table = self.vocabulary * self.hidden
        return 2.0 if table and self.known_parameters - self.parameters > table / 2 else 1.0

    @property
    def tower_parameters(self) -> float:
        """Parameters of a tower for pictures: what is documented beyond blocks and vocabulary."""
        explained = self.parameters + (self.embeddings - 1) * self.vocabulary * self.hidden
        return max(self.known_parameters - explained, 0.0) if self.sees else 0.0

    @property
    def layer_parameters(self) -> float:
        """Parameters of one block, one with experts where there are any."""
        if not self.experts:
            return self.attention_parameters + self.matrices * self.hidden * self.inner
        return self.attention_parameters + 3 * self.hidden * self.expert_inner * (self.experts + self.shared)

    @property
    def routed_parameters(self) -> float:
        """Parameters of all routed experts."""
        return 3 * self.hidden * self.expert_inner * self.experts * (self.layers - self.dense_layers)

    @property
    def parameters(self) -> float:
        """All parameters, as the sizes imply, or as documented where there are no layers."""
        if not self.layers:
            return self.known_parameters
        inner = 3 * self.hidden * (self.inner - self.expert_inner * (self.experts + self.shared))
        return self.layers * self.layer_parameters + self.dense_layers * inner + self.vocabulary * self.hidden


@cache
def blocks_of(model: ModelSizes) -> tuple[tuple[float, ModelSizes], ...]:
    """The blocks of a model by kind: how many there are, and one of them.

    Dense feed-forward parts come before experts, attention that sees all positions before other kinds.
    """
    full = model.layers - model.window_layers - model.linear_layers
    indexed = min(model.index_layers, full) if model.index_heads else full
    counts = (indexed, full - indexed, model.window_layers, model.linear_layers)
    dense, found = model.dense_layers, []
    for kind, count in enumerate(counts):
        index, window, linear = (float(kind == place) for place in (0, 2, 3))
        alike = replace(model, layers=1.0, dense_layers=0.0, index_layers=index)
        block = replace(alike, window_layers=window, linear_layers=linear)
        plain = replace(block, experts=0.0, chosen=0.0, shared=0.0, matrices=3.0)
        first = min(count, dense)
        dense -= first
        found += [(first, plain), (count - first, block)]
    return tuple((count, block) for count, block in found if count > 0)


def model_of(name: str, architecture: str, facts: Mapping[str, float | str]) -> ModelSizes:
    """A model from its facts.

    Args:
        name: Model id, for messages.
        architecture: As in ``docs/knowledge-format.md``: decoder, encoder, moe-decoder, vision, ...
        facts: Names and values, such as ``hidden_size``.

    Raises:
        MissingFactError: A size that the architecture cannot do without is unknown.
    """

    def number_of(fact: str, default: float = 0.0) -> float:
        value = facts.get(fact)
        return float(value) if isinstance(value, int | float) and value > 0 else default

    def needed(fact: str) -> float:
        value = number_of(fact)
        if not value:
            raise MissingFactError(f"{name}: {fact} is not known", hint="--config-json FILE tells it")
        return value

    layered = "layers" in facts and "hidden_size" in facts
    if not layered and "flops_per_sample" in facts:
        return ModelSizes(
            id=name,
            flops_per_sample=number_of("flops_per_sample"),
            known_parameters=number_of("parameters"),
            activations=number_of("activations_per_sample"),
        )
    hidden, layers, heads = needed("hidden_size"), needed("layers"), needed("attention_heads")
    alone = 0.0
    if not any(name.startswith("compressed_") for name in facts):
        attending = sum(number_of(name) for name in facts if name.endswith("_attention_layers")) or layers
        layers, alone = min(layers, attending), layers - min(layers, attending)
    # Feed-forward blocks that stand alone (Nemotron-H) count with those that attend, as wide as the mean.
    spread = alone / layers or 1.0
    experts = number_of("experts")
    head_size = number_of("head_dim", hidden / heads)
    kv_heads = number_of("kv_heads", heads)
    inner = number_of("intermediate_size") or (
        number_of("moe_intermediate_size") if experts else needed("intermediate_size")
    )
    latent = number_of("kv_lora_rank")
    split_heads = bool(latent and number_of("qk_nope_head_dim") and number_of("v_head_dim"))
    if split_heads:
        head_size = number_of("v_head_dim")
    vocabulary = number_of("vocabulary_size")
    matrices = 3.0 if architecture in DECODERS else 2.0
    total = number_of("parameters")
    image = number_of("image_size")
    model = ModelSizes(
        id=name,
        layers=layers,
        hidden=hidden,
        inner=inner * spread,
        heads=heads,
        kv_heads=heads if latent else kv_heads,
        head_size=head_size,
        vocabulary=vocabulary,
        matrices=matrices,
        experts=experts,
        chosen=needed("experts_per_token") if experts else 0.0,
        shared=number_of("shared_experts"),
        # experts of an older kind are as wide as the dense layer would be (Mixtral)
        expert_inner=number_of("moe_intermediate_size", inner) * spread if experts else 0.0,
        kv_width=latent + ROTARY_SIZE if latent else 2 * kv_heads * head_size,
        flops_per_sample=number_of("flops_per_sample"),
        known_parameters=total,
        causal=architecture in DECODERS,
        encodes=architecture == "encoder",
        sees=architecture == "multimodal",
        tokens_per_image=_patches(name, image) if image and not vocabulary else 0.0,
        latent=latent > 0,
        query_rank=number_of("q_lora_rank"),
        query_size=number_of("qk_nope_head_dim") + ROTARY_SIZE if split_heads else 0.0,
        value_size=number_of("v_head_dim") if split_heads else 0.0,
        dense_layers=number_of("dense_layers") if experts else 0.0,
        window=number_of("sliding_window"),
        window_layers=number_of("sliding_attention_layers"),
        linear_layers=number_of("linear_attention_layers"),
        linear_state=number_of("linear_key_head_dim", 128.0),
        linear_heads=number_of("linear_value_heads"),
        linear_keys=number_of("linear_key_heads") * number_of("linear_key_head_dim", 128.0),
        linear_value_size=number_of("linear_value_head_dim", 128.0),
        attended=number_of("sparse_top_k"),
        index_width=number_of("index_heads") * number_of("index_head_dim"),
        index_heads=number_of("index_heads"),
        index_layers=number_of("index_layers", layers),
    )
    if total and not experts and (model.causal or model.encodes):
        # Gated or not is seldom stated; the parameter count tells.
        forms = (replace(model, matrices=2.0), replace(model, matrices=3.0))
        return min(forms, key=lambda form: abs(form.parameters / total - 1))
    if not experts or not total or model.parameters <= PHYSICS["nominal_parameters"] * total:
        return model
    # Experts may be narrower than the block (a latent width), or fewer matrices: the parameter count tells.
    share = 1 - (model.parameters - total) / model.routed_parameters
    return replace(model, expert_inner=model.expert_inner * max(share, 0.0))


def _patches(name: str, image: float) -> float:
    """Tokens of a Vision Transformer: the patch size is the last number of its name, else 16."""
    tail = name.rsplit("-", 1)[-1]
    patch = float(tail) if tail.isdigit() and 4 <= int(tail) <= 64 else 16.0
    return (image // patch) ** 2 + 1
