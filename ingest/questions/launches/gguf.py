"""The header of a GGUF file: the sizes of its network and the number format of its weights.

Source: the GGUF specification of ggml-org/ggml: a magic word, version, counts of tensors and of
keys, then each key as a text, the number of its type and its value, little endian. Tensors are not read.
"""

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from ingest.questions.launches.launch_facts import LaunchFacts
from ingest.questions.launches.model_config import config_facts
from kg.errors import InputError
from kg.terms.precisions import GGUF_FILE_TYPES

MAGIC = b"GGUF"
MOST_KEYS = 100_000
MOST_TEXT = 1 << 20
MOST_BYTES = 16 << 20
"""Keys of a header, bytes of a text in it and of all before the tokens, above which a file is broken."""
TOKENS = "tokenizer.ggml.tokens"

_TEXT, _ARRAY = 8, 9
_NUMBERS: Mapping[int, str] = MappingProxyType(
    {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
)
"""Types of single values, as :mod:`struct` names them."""

_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "block_count": "num_hidden_layers", "embedding_length": "hidden_size",
        "feed_forward_length": "intermediate_size", "attention.head_count": "num_attention_heads",
        "attention.head_count_kv": "num_key_value_heads", "attention.key_length": "head_dim",
        "attention.kv_lora_rank": "kv_lora_rank", "attention.q_lora_rank": "q_lora_rank",
        "attention.sliding_window": "sliding_window", "context_length": "max_position_embeddings",
        "expert_count": "num_experts", "expert_used_count": "num_experts_per_tok",
        "expert_feed_forward_length": "moe_intermediate_size", "expert_shared_count": "n_shared_experts",
        "leading_dense_block_count": "first_k_dense_replace", "vocab_size": "vocab_size",
    }
)  # fmt: skip
"""Keys of an architecture, and what a ``config.json`` calls them."""

_FILE_TYPES: Mapping[int, str] = MappingProxyType(
    {0: "float32", 1: "float16", 32: "bfloat16", 38: "mxfp4", **GGUF_FILE_TYPES}
)
"""``general.file_type`` (llama.h, ``llama_ftype``): the format of most weights, where one is priced."""


def read_gguf(path: Path) -> LaunchFacts:
    """The facts in the header of a file.

    Raises:
        InputError: It cannot be read, is no GGUF file, or states none of the sizes of a transformer.
    """
    try:
        with path.open("rb") as stream:
            keys = _header(stream)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (struct.error, ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no GGUF header: {error}") from None
    kind = str(keys.get("general.architecture", ""))
    described = {name: keys[f"{kind}.{key}"] for key, name in _KEYS.items() if f"{kind}.{key}" in keys}
    described.setdefault("vocab_size", keys.get(TOKENS))
    if "kv_lora_rank" in described:  # the length of a key is that of the compressed row
        described.pop("head_dim", None)
        key, rope = (
            keys.get(f"{kind}.{name}") for name in ("attention.key_length_mla", "rope.dimension_count")
        )
        described |= {"qk_rope_head_dim": rope, "v_head_dim": keys.get(f"{kind}.attention.value_length_mla")}
        if isinstance(key, int) and isinstance(rope, int):
            described["qk_nope_head_dim"] = key - rope
    content = {"model_type": kind, "_name_or_path": keys.get("general.name"), **described}
    kept = keys.get("general.file_type")
    if isinstance(kept, int) and (form := _FILE_TYPES.get(kept)) is not None:
        content["dtype"] = form
    return config_facts(content, path.name)


def _header(stream: BinaryIO) -> dict[str, object]:
    """Keys and values before the tokenizer's; of an array its length."""
    magic, _, _, count = struct.unpack("<4sIQQ", stream.read(24))
    if magic != MAGIC or count > MOST_KEYS:
        raise ValueError("another magic word" if magic != MAGIC else f"{count} keys")
    found: dict[str, object] = {}
    for _ in range(count):
        name = _text(stream)
        (kind,) = struct.unpack("<I", stream.read(4))
        if kind != _ARRAY:
            found[name] = _value(stream, kind)
            continue
        inner, length = struct.unpack("<IQ", stream.read(12))
        found[name] = length
        if name == TOKENS:
            break  # the sizes stand before them
        if inner in _NUMBERS:
            stream.seek(min(length, MOST_BYTES) * struct.calcsize(f"<{_NUMBERS[inner]}"), os.SEEK_CUR)
            continue
        for _ in range(min(length, MOST_TEXT)):
            _value(stream, inner)
    return found


def _value(stream: BinaryIO, kind: int) -> object:
    if kind == _TEXT:
        return _text(stream)
    if kind not in _NUMBERS:
        raise ValueError(f"no type {kind}")
    form = f"<{_NUMBERS[kind]}"
    (value,) = struct.unpack(form, stream.read(struct.calcsize(form)))
    return value


def _text(stream: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", stream.read(8))
    if length > MOST_TEXT or stream.tell() > MOST_BYTES:
        raise ValueError(f"a text of {length} bytes at byte {stream.tell()}")
    return stream.read(length).decode("utf-8")
