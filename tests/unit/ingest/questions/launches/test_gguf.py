"""A GGUF file states sizes and format in its header; what is no header is bad input."""

import struct
from pathlib import Path

import pytest

from ingest.questions.launches.gguf import read_gguf
from kg.errors import InputError

SIZES = {
    "block_count": 36, "embedding_length": 4096, "feed_forward_length": 12288, "attention.head_count": 32,
    "attention.head_count_kv": 8, "attention.key_length": 128, "context_length": 40960,
}  # fmt: skip


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def header(pairs: dict[str, object], *, tokens: int = 151936, magic: bytes = b"GGUF") -> bytes:
    """A header as llama.cpp writes it: sizes first, then the tokenizer's words."""
    rows = [
        text(name)
        + (struct.pack("<I", 8) + text(value) if isinstance(value, str) else struct.pack("<II", 4, value))
        for name, value in pairs.items()
    ]
    rows.append(text("general.tags") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b"))
    rows.append(text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, tokens) + text("!"))
    return magic + struct.pack("<IQQ", 3, 399, len(rows)) + b"".join(rows)


def named(kind: str, sizes: dict[str, object]) -> dict[str, object]:
    return {"general.architecture": kind, **{f"{kind}.{name}": value for name, value in sizes.items()}}


def test_sizes_name_and_format_of_a_dense_model(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(header({**named("wolf", {**SIZES}), "general.name": "Wolf 8B", "general.file_type": 15}))
    told = read_gguf(path).question
    assert told["sizes"] == {
        "layers": 36, "hidden_size": 4096, "intermediate_size": 12288, "attention_heads": 32, "kv_heads": 8,
        "head_dim": 128, "max_positions": 40960, "vocabulary_size": 151936, "attention_kind": "full",
        "architecture": "decoder",
    }  # fmt: skip
    assert (told["model"], told["precision"]) == ("wolf-8b", "q4_k_m")


def test_experts_and_latent_attention(tmp_path: Path) -> None:
    more = {
        "expert_count": 256, "expert_used_count": 8, "expert_feed_forward_length": 2048, "expert_shared_count": 1,
        "leading_dense_block_count": 3, "attention.kv_lora_rank": 512, "attention.key_length_mla": 192,
        "attention.value_length_mla": 128, "rope.dimension_count": 64,
    }  # fmt: skip
    path = tmp_path / "m.gguf"
    path.write_bytes(header(named("wolf", {**SIZES, **more})))
    sizes = read_gguf(path).question["sizes"]
    assert isinstance(sizes, dict)
    assert "head_dim" not in sizes
    wanted = {
        "experts": 256, "experts_per_token": 8, "moe_intermediate_size": 2048, "shared_experts": 1, "dense_layers": 3,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "attention_kind": "latent", "architecture": "moe-decoder",
    }  # fmt: skip
    assert {name: sizes[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGUF",
        header({}, magic=b"GGML"),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 1 << 60),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", 1 << 40),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text("k") + struct.pack("<I", 99),
        b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + struct.pack("<Q", 1) + b"\xff" + struct.pack("<II", 4, 1),
        header({"general.architecture": "clip"}),
    ],
)
def test_what_is_no_header_of_a_transformer_is_bad_input(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"m\.gguf"):
        read_gguf(path)


def test_a_file_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_gguf(tmp_path / "m.gguf")


def test_a_format_that_is_no_number_is_none_and_numbers_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    content = header({"general.file_type": "abc", **named("wolf", {**SIZES})})
    scores = text("scores") + struct.pack("<IIQ", 9, 10, 1000) + bytes(8000)
    count = struct.unpack("<Q", content[16:24])[0] + 1
    path.write_bytes(content[:16] + struct.pack("<Q", count) + scores + content[24:])
    told = read_gguf(path).question
    assert "precision" not in told
    assert isinstance(told["sizes"], dict)
    assert told["sizes"]["vocabulary_size"] == 151936
