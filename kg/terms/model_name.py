"""Names of models as hubs, launch scripts and people write them, word by word: what each word says.

A name is a row of words: family, version, size, active size, role, date, number format of the weights, and
what the file or the run is called besides. ``Qwen/Qwen3-235B-A22B-Thinking-2507-AWQ`` and
``pretrain_qwen3_235b_a22b_4k`` say the same network; nothing here knows any family.
"""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from types import MappingProxyType

import data
from kg.terms.precisions import GGUF_NAME, gguf_type

BILLION = 1e9
_SCALES = MappingProxyType({"m": 1e6, "b": BILLION, "t": 1e12})


class Part(StrEnum):
    """Meaning of one word of a model's name."""

    CORE = "core"
    """The family, its version, or a word that nobody has explained."""
    SIZE = "size"
    ACTIVE = "active size"
    EXPERTS = "experts"
    ROLE = "role"
    DATE = "date"
    FORMAT = "format of the weights"
    PACKING = "packing"
    """Packing of the file, and its purpose: it is the same network."""
    RUN = "run"
    """Options of a launch: they name no network."""


_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        r"w8a8\w*": "int8",
        r"w4a8\w*": "w4a8",
        r"w4a4\w*": "w4a4",
        r"w4a16\w*": "w4a16",
        r"w8a16\w*": "w8a16",
        r"fp8\w*|f8|float8": "fp8",
        r"nvfp4\w*|fp4": "nvfp4",
        r"mxfp4\w*": "mxfp4",
        r"mxfp8\w*": "mxfp8",
        r"bf16|bfloat16": "bfloat16",
        r"fp16|float16|f16": "float16",
        r"u?int4|4bit|i?q4": "w4a16",
        r"i?q8": "w8a16",
        r"int8|8bit": "int8",
    }
)
"""Words for the number format in which weights are stored, and the format. ``w8a8`` has 8 bits for weights
and for what they are multiplied by. Types of GGUF files are those of ``kg.terms.precisions``."""

_WEIGHT_ONLY = re.compile(r"awq\w*|gptq\w*|autoround|hqq|bnb|bitsandbytes|exl2|wna16")
"""Methods that quantise the weights alone, to 4 bits unless the name says 8."""

_METHODS = MappingProxyType({"ascend": "int8", "modelslim": "int8", "modelopt": "fp8", "fbgemm": "fp8"})
"""Words of ``--quantization`` for methods whose usual format the word itself does not say."""

_PARTS: Mapping[Part, re.Pattern[str]] = MappingProxyType(
    {
        Part.FORMAT: re.compile(f"{'|'.join(_FORMATS)}|{_WEIGHT_ONLY.pattern}|{GGUF_NAME}"),
        Part.SIZE: re.compile(r"(?:\d+x)?\d+(?:\.\d+)?[bmt]"),
        Part.ACTIVE: re.compile(r"a\d+(?:\.\d+)?b"),
        Part.EXPERTS: re.compile(r"\d+e"),
        Part.DATE: re.compile(
            r"20[12]\d(?:[01]\d)?(?:[0-3]\d)?|2[3-9](?:0[1-9]|1[0-2])|(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])"
        ),
        Part.ROLE: re.compile(
            r"instruct|it|chat|base|think|thinking|reasoning|preview|prev|exp|experimental|pt|rl|dpo|aligned|"
            r"pretrained|latest|terminus|zero|uncensored|abliterated|dense|uncased|v\d+(?:\.\d+)*"
        ),
        Part.PACKING: re.compile(
            r"quarot|spinquant|(?:float)?mtp\d*|eagle\d*|dspark|dynamic|static|block|channel|token|sc|c8|ud|gguf|"
            r"ggml|mlx|onnx|safetensors|hf|transformers|diffusers|pytorch|torch|mindspore|ms|vllm|sglang|"
            r"megatron|mindspeed|mcore|veomni|npu|gpu|for|infer|poc|mmlab|mmdet|id\d+|(?=\w*\d)[0-9a-f]{7}|ascend|310p?|a[235]|tp\d+|g(?:32|64|128)|test|quantized|quant|ptq|weights?|ckpt"
        ),
        Part.RUN: re.compile(
            r"(?:pre|post)?train(?:ing)?|(?:fine)?tune|finetune|full|lora|qlora|sft|grpo|ptd|fsdp2?|mc2|"
            r"pack|run|launch|script|config|start|serve|server|job|cmd|bench|standard|input|test|distributed|recompute|swap|ds|\d+k|\d+p|"
            r"(?:(?:tp|pp|cp|ep|dp|vpp|etp|edp|sp|l|mbs|gbs)\d+)+"
        ),
    }
)
"""Words by what they say, the first that fits. A version behind a size or a role (``v0.1``) is a role's."""

VARIANTS = frozenset(
    {
        "air", "asr", "audio", "coder", "draft", "embedding", "flash", "image", "large", "lite", "max",
        "medium", "mini", "moe", "nano", "next", "ocr", "omni", "plus", "pro", "reranker", "small", "super",
        "tiny", "tts", "turbo", "ultra", "v", "video", "vision", "vl",
    }
)  # fmt: skip
"""Words that stand for another network of the family: without a size beside it none is passed over."""

_HUB_FOLDER = re.compile(r"models--(?P<organisation>[^/\\]+?)--(?P<name>[^/\\]+)")
_NO_NAME = re.compile(
    r"[0-9a-f]{32,64}|snapshots?|hf|models?|weights?|checkpoints?|ckpts?|latest|main|output|data"
)
"""Folders and files that name no model: those above them do."""
_ENDING = re.compile(r"(?:-\d{5}-of-\d{5})?\.(gguf|safetensors|bin|pt|pth|json|ya?ml|sh)$", re.IGNORECASE)
_POINT = re.compile(r"(?<=\d)(?:point|p)(?=\d)|(?<=\d)_(?=\d[ac-ln-oq-su-z]?(?:[_-]|$))")
"""A point in a name that may hold none: ``1point7b``, ``m2p7``, ``qwen2_5_vl``."""
_GGUF = re.compile(rf"(?<![a-z0-9]){GGUF_NAME}(?![a-z0-9])")
_BREAK = re.compile(r"(?:(?<!\d)\.|\.(?!\d)|[^\w.]|_)+")
_UNIT = re.compile(r"([^\W\d_]*)(\d[\d.]*)?")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a name, in lower case, and what it says."""

    text: str
    part: Part


@dataclass(frozen=True)
class ModelName:
    """A name of a model, word by word.

    Attributes:
        organisation: Who published it, or the folder where it lies; empty if the name has neither.
        short: The name alone.
        words: Its words in order.
    """

    organisation: str
    short: str
    words: tuple[Word, ...]

    @property
    def is_dated(self) -> bool:
        """True if it names a later checkpoint, a tuned one, or one for longer texts."""
        return any(word.part in {Part.DATE, Part.ROLE, Part.RUN} for word in self.words)

    def without(self, *parts: Part) -> str:
        """The name without the words that say some things."""
        return "-".join(word.text for word in self.words if word.part not in parts)

    def after(self, start: int) -> ModelName:
        """The name from one of its words on."""
        return ModelName(self.organisation, self.short, self.words[start:])

    @cached_property
    def units(self) -> tuple[tuple[str, str], ...]:
        """Letters and digits of each word of the core, as ``("qwen", "3")`` and ``("vl", "")``."""
        found: list[tuple[str, str]] = []
        for word in self.words:
            if word.part is Part.CORE:
                pairs = [(m[1], (m[2] or "").replace(".", "")) for m in _UNIT.finditer(word.text) if m[0]]
                found += pairs
        return tuple(found)

    @cached_property
    def roles(self) -> frozenset[str]:
        """Its words of a role, such as ``thinking``."""
        return frozenset(word.text for word in self.words if word.part is Part.ROLE)

    @cached_property
    def size(self) -> float | None:
        """Parameters that the name states, those of ``8x7b`` multiplied out; None if it states none."""
        return self._number(Part.SIZE)

    @cached_property
    def active(self) -> float | None:
        """Parameters that a token uses, as the name states them."""
        return self._number(Part.ACTIVE)

    @cached_property
    def experts(self) -> float | None:
        """The number of experts that the name states."""
        return self._number(Part.EXPERTS)

    @cached_property
    def weights(self) -> str:
        """The number format of the weights that the name states; empty if it states none."""
        return _format_of({word.text for word in self.words if word.part is Part.FORMAT})

    def _number(self, part: Part) -> float | None:
        text = next((word.text for word in self.words if word.part is part), "")
        if not text:
            return None
        copies, _, each = text.strip("abmte").rpartition("x")
        each = re.sub(r"^0(?=\d+$)", "0.", each)  # 06b has lost its point
        return float(each) * float(copies or 1) * _SCALES.get(text[-1], 1.0)


def quantised_format(method: str) -> str:
    """The format of weights that a word of ``--quantization`` means; empty if the word does not say.

    Example:
        >>> (
        ...     quantised_format("awq_marlin"),
        ...     quantised_format("modelopt_fp4"),
        ...     quantised_format("compressed-tensors"),
        ... )
        ('w4a16', 'nvfp4', '')
    """
    words = [word for word in _BREAK.split(method.strip().lower()) if word]
    stated = _format_of({word for word in words if _PARTS[Part.FORMAT].fullmatch(word)})
    return stated or next((_METHODS[word] for word in words if word in _METHODS), "")


@lru_cache(maxsize=65536)
def read_name(text: str) -> ModelName:
    """Read a name: one of a hub, of a folder of its cache, of a local path, or of a script.

    Example:
        >>> name = read_name("/data/hub/models--Qwen--Qwen3-30B-A3B-GPTQ-Int4/snapshots/main")
        >>> name.organisation, name.without(Part.FORMAT), name.size, name.active, name.weights
        ('Qwen', 'qwen3-30b-a3b', 30000000000.0, 3000000000.0, 'w4a16')
    """
    plain = unicodedata.normalize("NFKC", text).strip().replace("\\", "/").rstrip("/")
    if (folder := _HUB_FOLDER.search(plain)) is not None:
        organisation, short = folder["organisation"], folder["name"]
    else:
        parts = [part for part in plain.split("/") if part not in {"", ".", "..", "~"}]
        kept = [part for part in parts if not _is_nameless(part)] or parts or [""]
        short, organisation = kept[-1], kept[-2] if len(kept) > 1 else ""
    bare = _ENDING.sub("", short).lower()
    spaced = _POINT.sub(".", _GGUF.sub(lambda found: found[0].replace("_", ""), bare))
    words: list[Word] = []
    for piece in filter(None, _BREAK.split(spaced)):
        words.append(Word(piece, _part(piece, words)))
    return ModelName(organisation, short, tuple(words))


def _is_nameless(part: str) -> bool:
    words = [word for word in _BREAK.split(_ENDING.sub("", part).lower()) if word]
    return _NO_NAME.fullmatch(part.lower()) is not None or all(
        _PARTS[Part.RUN].fullmatch(word) or word in {"high", "low"} for word in words
    )


def _part(piece: str, before: Collection[Word]) -> Part:
    is_named = any(word.part not in {Part.CORE, Part.RUN} for word in before)
    for part, pattern in _PARTS.items():
        if not pattern.fullmatch(piece):
            continue
        if part is Part.ROLE and re.match(r"v\d", piece) and not is_named:
            return Part.CORE  # the version of the family, as in DeepSeek-V3
        if part in {Part.DATE, Part.PACKING, Part.RUN} and not before and part is not Part.RUN:
            return Part.CORE
        return part
    return Part.CORE


def _format_of(words: Collection[str]) -> str:
    stated = [form for pattern, form in _FORMATS.items() for word in words if re.fullmatch(pattern, word)]
    if any(map(_WEIGHT_ONLY.fullmatch, words)):
        return "w8a16" if {"int8", "8bit"} & set(words) else "w4a16"
    return next(filter(None, map(gguf_type, words)), stated[0] if stated else "")


_TOKENS = re.compile(r"(\d+)([km])")
_THOUSANDS = {"k": 1000, "m": 1_000_000}


@cache
def _positions() -> dict[tuple[str, str], dict[str, str]]:
    """Rows of ``data/models/positions.csv`` by model and word: from cards and configurations."""
    rows = csv.DictReader(data.text("models/positions.csv").splitlines())
    return {(row["model"], row["word"]): row for row in rows}


def rotary_of(model: str, checkpoint: str = "") -> tuple[int, int] | None:
    """The positions that a checkpoint is trained for, and the base of its rotation; None if unknown."""
    words = ("", *(word.text for word in read_name(checkpoint).words))
    found = [row for word in words if (row := _positions().get((model, word))) and row["trained"]]
    return (int(found[-1]["trained"]), int(found[-1]["rope_theta"])) if found else None


def positions_of(checkpoint: str, model: str, names: Collection[str], most: int | None) -> int | None:
    """The most tokens of a checkpoint; None where it is of a date whose configuration is not known.

    Args:
        checkpoint: Its name, as a hub has it.
        model: Id of the model that it is taken as.
        names: Names of that model: a date among them is its own.
        most: The most tokens of the model.
    """
    words = read_name(checkpoint).words
    sizes = [word.text for word in words if word.part is Part.SIZE]
    lengths = [word.text for word in words if word.part is Part.RUN] + sizes[1:]
    for found in filter(None, map(_TOKENS.fullmatch, lengths)):
        count = int(found[1])
        is_binary = found[2] == "k" and not count & (count - 1)
        return max(count * (1024 if is_binary else _THOUSANDS[found[2]]), most or 0)
    own = " ".join(names)
    for word in words:
        row = _positions().get((model, word.text))
        if row is not None and word.text not in own:
            return int(row["max_positions"])
        if word.part is Part.DATE and word.text not in own:
            return None
    return most
