"""Checks that a server starts with its settings: its memory must hold the weights and one longest request.

vLLM refuses to start where the cache does not hold one request of the longest length
(``_check_enough_kv_cache_memory`` in vllm/v1/core/kv_cache_utils.py, 0.6.6 to 0.33). SGLang refuses where the
weights fill its share (``profile_available_bytes``, 0.5.16 and later), and requests beyond its pool.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from kg.errors import InputError, MissingFactError, UnknownEntityError
from kg.nouns.layout import DEGREES, ParallelLayout
from kg.nouns.values import Value
from kg.terms.dialects import positive, spell, statement
from kg.terms.meanings import OF_VLLM
from kg.terms.setting_registry import registry
from recommender.cost_model.facts.model import ModelSizes
from recommender.cost_model.layout_domain import BY_LAYERS, SHARING, fullest
from recommender.cost_model.question import Question
from recommender.cost_model.workloads.memory_fit import USABLE_MEMORY, memory_bytes, not_modelled

_ON_HOST = frozenset({"cpu_moe", "cmoe", "n_cpu_moe", "ncmoe", "override_tensor", "ot"})
"""Settings by which llama.cpp keeps tensors of layers on the host (common/arg.cpp)."""
PAGE = 1024
"""Lengths are rounded to this many tokens; a choice."""
STRETCHES = (
    "rope",
    "hf_overrides",
    "hf_config",
    "json_model_override",
    "long_max_model_len",
    "longer_context",
)
"""Parts of the names of settings that stretch positions, or allow more than there are."""
STEP, LARGE = 8192.0, 70 * 2**30
"""Tokens of a step of a server that nobody bounds on devices of so many bytes, a quarter on smaller ones
(vLLM, engine/arg_utils.py, ``get_batch_defaults``)."""
_SHARES: Mapping[str, float] = MappingProxyType({"mindie": 0.8})
"""Default share of the memory that an engine takes, where not vLLM's (``NPU_MEMORY_FRACTION``)."""
REFUSING = OF_VLLM
"""Engines that do not start where their cache does not hold one request of the longest length."""
_JUDGED = REFUSING | {"sglang", "mindie", "llama.cpp", "lmdeploy", "tensorrt-llm", "tgi"}
_WHOLE = frozenset({"llama.cpp", "lmdeploy", "tensorrt-llm"})
"""Engines that may fill the memory. llama.cpp takes the cache of its context at the start, and fits that to
the memory only where context or layers are left to it (``common_fit_params``); others share what is free."""
_WIDEST = 16
"""Devices that share each matrix up to which more are proposed: two servers of eight; a choice."""
_MIB, _SPARE = 2**20, 5 * 2**30
"""Memory that stays free beside a good share (docs.sglang.ai, hyperparameter tuning: 5 to 8 GB)."""
_BY_MEMORY = ((20, 2048, 8, 8), (35, 2048, 24, 80), (60, 4096, 32, 160), (90, 8192, 256, 512),
              (160, 8192, 256, 512), (math.inf, 16384, 512, 512))  # fmt: skip
"""Tokens of a prefill and requests of a graph, below TP 4 and from it, by GB (SGLang, server_args.py)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFit:
    """The reason that a server does not start, and changes with which it starts.

    Attributes:
        says: What a device needs and has, in English and Chinese.
        fact: What is most at fault: ``memory_share``, ``max_len`` or ``tp``.
        starts: Whether it starts all the same, and refuses requests that are too long.
        is_sure: Whether weights and cache alone are too large, whatever else takes memory.
        reliefs: What lets it start, each by fact, in the order of what it costs.
    """

    says: tuple[str, str]
    fact: str
    starts: bool = False
    is_sure: bool = True
    reliefs: tuple[Mapping[str, Value], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Plain content."""
        says = dict(zip(("en", "zh"), self.says, strict=True))
        reliefs = [dict(one) for one in self.reliefs]
        return {"starts": self.starts, "sure": self.is_sure, "says": says, "reliefs": reliefs}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMemory:
    """Memory that a device of a server needs for one request.

    Attributes:
        question: What is served, with the settings that hold.
        layout: How it is divided.
        chunk: Tokens of a step; None for what the server takes unless told.
        adapters: Bytes of the slots for adapters.
    """

    question: Question
    layout: ParallelLayout
    chunk: float | None = None
    adapters: float = 0.0

    def parts(self, tokens: int, **change: object) -> dict[str, float]:
        """Bytes of each part with one request of so many tokens."""
        question, device = self.question, self.question.machine.device
        one = {"batch": 1.0, "output_len": 1.0, "input_len": max(tokens - 1.0, 1.0)}
        one["chunk"] = self.chunk or (STEP if device.memory_bytes >= LARGE else STEP / 4)
        sizes = {name: size for name, size in self.layout.degrees().items() if name != DEGREES["cp"]}
        held = memory_bytes(
            fullest(question.model, self.layout), "serving",
            [{**question.settings, **sizes, **one, **change}],
            self.layout.devices, engine=question.engine, reserved=device.reserved_bytes,
        )  # fmt: skip
        parts = {name: float(part[0]) for name, part in held.items()}
        return {**parts, "weights": parts["weights"] + self.adapters}

    def longest(self, most: int, room: float, **change: object) -> int:
        """The longest request in so many bytes, up to ``most`` in whole pages; 0 where there is none."""
        if sum(self.parts(most, **change).values()) <= room:
            return most
        pages = range(1, most // PAGE + 1)
        return PAGE * bisect_right(pages, room, key=lambda n: sum(self.parts(n * PAGE, **change).values()))


def server_fit(
    question: Question, current: Mapping[str, Value], program: str, *, tokens: float = 0.0, most: int = 0
) -> ServerFit | None:
    """Check that a server starts and accepts its longest requests; None where it does.

    Args:
        question: What runs, with its settings.
        current: The settings as the program has them.
        program: Which it is.
        tokens: Tokens of a request that are told.
        most: Tokens that the model takes; 0 where that is not known.
    """
    is_moved = any("offload" in name or "kt_" in name for name in map(_plain, current))
    is_moved = is_moved or experts_on_host(current)
    if question.phase != "serving" or question.model.encodes or program not in _JUDGED or is_moved:
        return None
    stated = statement(current, program).facts
    is_fitted = any(_plain(n) == "max_model_len" and str(v) in {"auto", "-1"} for n, v in current.items())
    if program == "llama.cpp" and not {"max_len", "device_layers"} <= stated.keys():
        return None
    length = PAGE if is_fitted else positive(stated.get("max_len")) or most  # of what fits it takes the most
    is_stretched = any(part in _plain(name) for name in current for part in STRETCHES)
    length = length if is_stretched or not most else min(length, most)  # beyond it is another refusal
    if not_modelled(question.model) or not length or "dp_attention" in stated:
        return None
    modes = {str(value) for name, value in current.items() if _plain(name) in {"split_mode", "sm"}}
    if program in BY_LAYERS and "none" not in modes:
        shared = min(question.machine.count, question.model.layers)
        question = replace(question, settings={DEGREES["pp"]: shared, **question.settings})
    try:
        adapters = slot_bytes(question.model, current, program)
        return _judged(question, stated, program, max(tokens, 1.0), length, adapters)
    except (InputError, MissingFactError):
        return None


def experts_on_host(current: Mapping[str, Value]) -> bool:
    """True if llama.cpp is told to keep tensors on the host, as a rule those of experts."""
    return any(_plain(name) in _ON_HOST and value not in {False, "0", ""} for name, value in current.items())


def _judged(
    question: Question,
    stated: Mapping[str, Value],
    program: str,
    tokens: float,
    length: int,
    adapters: float,
) -> ServerFit | None:
    server = _server(question, stated, program, adapters)
    held = question.machine.device.memory_capacity
    if not math.isfinite(held):
        return None  # a maker alone
    share, given = _share(stated, server, program), told_cache(stated)
    parts = server.parts(length)
    weights, cache = parts["weights"], parts["kv_cache"]
    rest = sum(parts.values()) - weights - cache if program != "sglang" else 0.0
    room = held if given and program in REFUSING else share * held  # vLLM passes the share over
    left = min(given, room - weights - rest) if given else room - weights - rest
    if cache <= left or not math.isfinite(held):
        return None
    is_full = left <= 0
    is_sure = weights >= room or cache > (given or room - weights)
    if not (is_full or program in REFUSING | {"llama.cpp"}):
        if "max_len" not in stated or program in _WHOLE:
            return None
        fits = server.longest(length, left + sum(parts.values()) - cache)
        return _cut(cache, left, length, fits) if fits >= PAGE else None
    fact = "memory_share" if "memory_share" in stated and share < USABLE_MEMORY else "max_len"
    if is_full and fact == "max_len":
        fact = "memory_share" if "memory_share" in stated else "tp"
    least = length if program in REFUSING | {"llama.cpp"} else min(math.ceil(max(tokens, PAGE)), length)
    reliefs = _reliefs(server, stated, program, tokens, least) if not given else ()
    return ServerFit(
        says=_why(weights - adapters, adapters, cache, left, length, room / held, held, full=is_full),
        fact=fact, is_sure=is_sure, reliefs=tuple(reliefs),
    )  # fmt: skip


def _server(
    question: Question, stated: Mapping[str, Value], program: str, adapters: float = 0.0
) -> ServerMemory:
    sizes = {
        name: int(above_zero(stated.get(short)) or above_zero(question.settings.get(name)) or 1)
        for short, name in DEGREES.items()
    }
    if program in SHARING and question.model.experts and sizes[DEGREES["dp"]] > 1:
        sizes[DEGREES["ep"]] = sizes[DEGREES["tp"]] * sizes[DEGREES["dp"]]
    layout, chunk = ParallelLayout.of_degrees(sizes), positive(stated.get("chunk"))
    return ServerMemory(question=question, layout=layout, chunk=chunk, adapters=adapters)


def told_cache(stated: Mapping[str, Value]) -> float | None:
    """Bytes of a device's cache that a launch states; None where it states none."""
    return above_zero(stated.get("cache_bytes")) or 1e9 * (above_zero(stated.get("cache_gb")) or 0.0) or None


def room_of_cache(question: Question, stated: Mapping[str, Value], program: str) -> float:
    """Bytes of a device that a server has for its cache, beside weights and a step; 0 where unknown."""
    held = question.machine.device.memory_capacity
    if question.model.encodes or program not in _JUDGED or not_modelled(question.model):
        return 0.0
    try:
        server = _server(question, stated, program)
        parts = server.parts(PAGE)
    except (InputError, MissingFactError):
        return 0.0
    left = _share(stated, server, program) * held - sum(parts.values()) + parts["kv_cache"]
    return left if math.isfinite(left) else 0.0


def _why(
    weights: float,
    adapters: float,
    cache: float,
    room: float,
    length: int,
    share: float,
    memory: float,
    *,
    full: bool,
) -> tuple[str, str]:
    need, takes, has = (f"{size / 1e9:,.1f}" for size in (weights, share * memory, memory))
    if full:
        slots = f"{adapters / 1e9:,.1f}"
        english, chinese = (
            ("", "") if not adapters else (f", slots for adapters {slots}", f"，LoRA 槽位需 {slots} GB")
        )
        return (
            f"weights take {need} GB of a device{english}, and the engine {takes} of its {has}",
            f"单卡权重需 {need} GB{chinese}，而引擎只占用 {has} GB 显存中的 {takes} GB",
        )
    one, free = (f"{size / 1e9:,.1f}" for size in (cache, room))
    beside = f"and beside the weights {free} of {takes} GB are left"
    return (
        f"one request of {length:,} tokens takes {one} GB of cache, {beside}",
        f"一个 {length:,} token 的请求需 {one} GB 缓存，而引擎的 {takes} GB 除权重外只剩 {free} GB",
    )


def _cut(cache: float, room: float, length: int, fits: int) -> ServerFit:
    need, has = (f"{size / 1e9:,.1f}" for size in (cache, room))
    english = f"the cache holds requests of about {fits:,} tokens: {has} GB, and {length:,} need {need}"
    chinese = f"缓存 {has} GB 约可容纳 {fits:,} token 的请求，而 {length:,} token 需 {need} GB"
    reliefs = ({"max_len": fits},)
    return ServerFit(says=(english, chinese), fact="max_len", starts=True, reliefs=reliefs)


def _fewer_adapters(
    server: ServerMemory, stated: Mapping[str, Value], room: float, length: int
) -> Iterator[Mapping[str, Value]]:
    """Changes to as many adapter slots as fit, or to the highest rank that all slots can have."""
    free = room - sum(replace(server, adapters=0.0).parts(length).values())
    slots, now = positive(stated.get("lora_slots")) or 1, positive(stated.get("lora_rank")) or 16
    if (fits := int(free * slots // server.adapters)) >= 1:
        yield {"lora_slots": fits}
    lower = [rank for rank in _RANKS if rank < now and server.adapters * rank / now <= free]
    if lower:
        yield {"lora_rank": lower[-1]}


def _halved(server: ServerMemory, length: int, room: float) -> Iterator[str]:
    """The 16-bit format of a device, where weights of 32 bit do not fit and those do."""
    name = server.question.machine.device.sixteen_bit
    is_whole = server.question.settings.get("precision") == "float32"
    if is_whole and server.longest(length, room, precision=name) == length:
        yield name


def _reliefs(
    server: ServerMemory, stated: Mapping[str, Value], program: str, tokens: float, length: int
) -> Iterator[Mapping[str, Value]]:
    """Changes that let the server start: more memory, shorter requests, narrower caches, more devices."""
    question, device = server.question, server.question.machine.device
    held, now = device.memory_capacity, _share(stated, server, program)
    usual = own_share(program, question.version, held, server.layout.tp)
    better: dict[str, Value] = {"memory_share": usual} if now < usual else {}
    if better and sum(server.parts(length).values()) <= usual * held:
        yield better
        better = {}  # the others do alone, or are none
    room = (usual if better else now) * held
    if server.adapters:
        for change in _fewer_adapters(server, stated, room, length):
            yield {**better, **change}
    if tokens <= (fits := server.longest(length, room)) < length and fits >= PAGE:
        yield {**better, "max_len": fits}
    if "device_layers" in stated:
        yield from ({**better, **change} for change in _experts_away(server, length, room))
        layers = range(int(question.model.layers), 0, -1)
        here = (n for n in layers if sum(server.parts(length, device_layers=n).values()) <= room)
        if (most := next(here, 0)) and most < question.model.layers:
            yield {**better, "device_layers": most}
    yield from ({**better, "precision": name} for name in _halved(server, length, room))
    narrow = device.computed_precision("fp8") == "fp8"
    cached = "int8" if program == "llama.cpp" else "fp8" if narrow else ""  # q8_0 there
    if cached and question.settings.get("precision_cache") in {None, "bf16", "fp16"}:
        fits = server.longest(length, room, precision_cache=cached)
        if fits >= max(tokens, PAGE):
            yield {**better, "precision_cache": cached, **({"max_len": fits} if fits < length else {})}
    yield from ({**better, **change} for change in _wider(server, stated, program, length, room))
    wide_weights = question.settings.get("precision", "bf16") in {"bf16", "fp16"}
    if narrow and wide_weights and server.longest(length, room, precision="fp8") == length:
        yield {**better, "precision": "fp8"}


def _experts_away(server: ServerMemory, length: int, room: float) -> Iterator[Mapping[str, Value]]:
    """The change to the experts of as many layers on the host as leave room for the rest of all layers."""
    model = server.question.model
    if not model.experts:
        return
    whole = server.parts(length, device_layers=model.layers)
    layers = model.layers - model.dense_layers
    each = whole["weights"] * model.routed_parameters / model.parameters / layers
    if (least := math.ceil((sum(whole.values()) - room) / each)) <= layers:
        yield {"device_layers": int(model.layers) + 1, "host_experts": int(model.dense_layers) + least}


def _wider(
    server: ServerMemory, stated: Mapping[str, Value], program: str, length: int, room: float
) -> Iterator[Mapping[str, Value]]:
    """The change to more devices that share each matrix: those of stated copies first, else more devices."""
    now, heads = server.layout, server.question.model.heads
    copies = positive(stated.get("dp")) or 1
    for more in (2, 4, 8, 16) if spell("tp", program) else ():
        wide = now.tp * more
        if wide > _WIDEST or heads % wide:
            return
        change: dict[str, Value] = {"tp": wide}
        layout = ParallelLayout(
            tp=wide, pp=now.pp, dp=now.dp, ep=min(now.ep * more, wide) if now.ep > 1 else 1
        )
        if copies % more == 0:
            layout = replace(now, tp=wide, dp=copies // more)
            change["dp"] = layout.dp
            if (local := positive(stated.get("dp_local")) or 0) and local % more == 0:
                change["dp_local"] = local // more
        if replace(server, layout=layout).longest(length, room) == length:
            yield change
            return


def own_share(program: str, release: str, memory: float, tp: int = 1) -> float:
    """The share of so many bytes that an engine takes unless told; SGLang leaves what it will need beside."""
    if program in _WHOLE:
        return 1.0
    if program != "sglang":
        found = spell("memory_share", program, release)
        try:
            asked = found and registry(program).at(release).look_up(found[0].key, suggest=False)
        except UnknownEntityError:
            asked = None
        default = asked and asked.setting and asked.setting.default_in(asked.release)
        return above_zero(default and default.value) or _SHARES.get(program, USABLE_MEMORY)
    return math.floor(100 * (1 - sglang_reserve(memory, tp) / memory)) / 100


def sglang_reserve(memory: float, tp: int = 1, chunk: int | None = None) -> float:
    """Bytes that SGLang keeps beside weights and cache, as it reckons them (server_args.py)."""
    gib = memory / 2**30
    _, tokens, narrow, wide = next(row for row in _BY_MEMORY if gib < row[0])
    graphs = narrow if tp < 4 else wide
    kept = 512 + max(chunk or tokens, 2048) * 1.5 + graphs * 2 + tp / 8 * 1024
    return max(kept, 10 * 1024 if gib > 60 else 0) * _MIB


def share_too_high(program: str, share: float, memory: float, tp: int, chunk: int | None) -> float | None:
    """The share that SGLang takes unless told, where one leaves too little beside; None where it does not."""
    if program != "sglang" or (1 - share) * memory >= min(sglang_reserve(memory, tp, chunk), _SPARE):
        return None
    return math.floor(100 * (1 - sglang_reserve(memory, tp, chunk) / memory)) / 100


def written_change(
    change: Mapping[str, Value], program: str, release: str, by_fact: Mapping[str, str]
) -> str:
    """A change of facts in the words of a launch, else in those of its program's release."""
    words = []
    for fact, value in change.items():
        found = spell(fact, program, release, value)
        key = by_fact.get(fact) or (fact if found is None else found[0].key)
        words.append(f"{key}{' ' if key.startswith('-') else '='}{value if found is None else found[1]}")
    return " ".join(words)


_RANKS = (8, 16, 32, 64, 128, 256, 320)
"""Ranks that vLLM takes (``--max-lora-rank``)."""


def slot_bytes(model: ModelSizes, current: Mapping[str, Value], program: str) -> float:
    """Least bytes of the slots for adapters that vLLM makes at the start, each of the highest rank.

    Both factors of every product of a block in two bytes (vllm/lora/layers, ``create_lora_weights``): on one
    device all of them, else those that are not divided.
    """
    told = {_plain(name): value for name, value in current.items()}
    if program not in REFUSING or "enable_lora" not in told:
        return 0.0
    facts = statement(current, program).facts
    slots, rank = (
        positive(facts.get(name)) or usual for name, usual in (("lora_slots", 1), ("lora_rank", 16))
    )
    tp, queries = positive(facts.get("tp")) or 1, model.heads * model.head_size
    keys = model.kv_heads * model.head_size
    dense = 0.0 if model.experts else model.inner
    whole = 4 * model.hidden + (3 * model.hidden if dense else 0)
    divided = 2 * queries + 2 * keys + 3 * dense
    return slots * rank * model.layers * (whole + divided / tp) * 2


def _share(stated: Mapping[str, Value], server: ServerMemory, program: str) -> float:
    question, told = server.question, above_zero(stated.get("memory_share"))
    held = question.machine.device.memory_capacity
    return min(told or own_share(program, question.version, held, server.layout.tp), 1.0)


def above_zero(value: object) -> float | None:
    """A stated number; None where it is none, or not above zero."""
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if number > 0 else None


def _plain(name: str) -> str:
    return name.lower().lstrip("-").replace("-", "_")
