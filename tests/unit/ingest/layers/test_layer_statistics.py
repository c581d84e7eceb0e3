"""Statistics of layers from tables, documents and weights."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from ingest.layers.layer_statistics import read_layers
from kg.errors import CaseFormatError


def _safetensors(path: Path, tensors: dict[str, tuple[str, np.ndarray]], cut: int = 0) -> Path:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    content = b""
    for name, (kind, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {
            "dtype": kind, "shape": list(array.shape), "data_offsets": [len(content), len(content) + len(raw)],
        }  # fmt: skip
        content += raw
    head = json.dumps(header).encode()
    path.write_bytes((struct.pack("<Q", len(head)) + head + content)[: -cut or None])
    return path


def test_a_table_under_the_names_people_use(tmp_path: Path) -> None:
    file = tmp_path / "stats.csv"
    file.write_text("Module,Grad Norm,numel,note\nlayers.0.mlp,0.5,100,x\nlayers.1.mlp,,200,y\n")
    first, second = read_layers(file)
    assert first.name == "layers.0.mlp"
    assert first.values == {"gradient_norm": 0.5, "parameters": 100.0}
    assert second.values == {"parameters": 200.0}


@pytest.mark.parametrize(
    "content",
    [
        {"layers.0.mlp": {"grad_norm": 0.5}},
        {"layers": {"layers.0.mlp": 0.5}},
        {"layers": [{"name": "layers.0.mlp", "gradient_norm": 0.5}]},
        [{"layer": "layers.0.mlp", "grad": 0.5}],
    ],
)
def test_documents_in_the_shapes_tools_write(tmp_path: Path, content: object) -> None:
    file = tmp_path / "stats.json"
    file.write_text(json.dumps(content))
    [layer] = read_layers(file)
    assert (layer.name, layer.values) == ("layers.0.mlp", {"gradient_norm": 0.5})


def test_all_faults_at_once(tmp_path: Path) -> None:
    file = tmp_path / "stats.csv"
    file.write_text("layer,sqnr_db,params\na,x,1\nb,3,-2\n,4,5\na,6,7\nc,inf,8\nd,1\n")
    with pytest.raises(CaseFormatError) as caught:
        read_layers(file)
    places = [fault.place for fault in caught.value.faults]
    assert places == ["line 2", "line 3", "line 4", "line 5", "line 6", "line 7"]


@pytest.mark.parametrize("text", ["", "layer,colour\na,red\n", "grad\n1\n"])
def test_a_table_that_tells_nothing(tmp_path: Path, text: str) -> None:
    file = tmp_path / "stats.csv"
    file.write_text(text)
    with pytest.raises(CaseFormatError):
        read_layers(file)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_weights_are_rounded_row_by_row(tmp_path: Path, kind: str) -> None:
    weights = np.array([[127.0, 1.25, -3.0], [0.0, 0.0, 0.0], [12.7, 0.12, 0.0]], np.float32)
    stored: np.ndarray = weights
    seen = weights.astype(np.float64)
    if kind == "F16":
        stored = weights.astype(np.float16)
        seen = stored.astype(np.float64)
    elif kind == "BF16":
        stored = (weights.view(np.uint32) >> 16).astype(np.uint16)
        seen = (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    file = _safetensors(
        tmp_path / "m.safetensors",
        {"layers.0.mlp.weight": (kind, stored), "norm.weight": ("F32", np.ones(3, np.float32))},
    )
    [layer] = read_layers(file)
    expected = 0.0
    for row in seen:
        scale = abs(row).max() / 127 or 1.0
        expected += sum((round(x / scale) * scale - x) ** 2 for x in row)
    assert layer.name == "layers.0.mlp"
    assert layer.values["weight_error"] == pytest.approx(expected, rel=1e-9)
    assert layer.values["parameters"] == 9


def test_weights_that_were_cut_short_or_are_none(tmp_path: Path) -> None:
    whole = {"a.weight": ("F32", np.ones((4, 4), np.float32))}
    for file in (
        _safetensors(tmp_path / "cut.safetensors", whole, cut=5),
        _safetensors(tmp_path / "head.safetensors", whole, cut=100),
        _safetensors(
            tmp_path / "nan.safetensors", {"a.weight": ("F32", np.full((2, 2), np.nan, np.float32))}
        ),
        _safetensors(tmp_path / "vectors.safetensors", {"a.bias": ("F32", np.ones(4, np.float32))}),
    ):
        with pytest.raises(CaseFormatError):
            read_layers(file)
    text = tmp_path / "text.safetensors"
    text.write_text("not weights at all")
    with pytest.raises(CaseFormatError, match="no safetensors file"):
        read_layers(text)


def test_a_file_that_the_library_wrote_is_read(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy", reason="comes with the extra encoder")
    rng = np.random.default_rng(0)
    tensors: dict[str, np.ndarray] = {
        "a.weight": rng.normal(size=(8, 16)).astype(np.float32),
        "b.weight": rng.normal(size=(4, 8)).astype(np.float16),
    }
    library.save_file(tensors, tmp_path / "theirs.safetensors", metadata={"format": "pt"})
    theirs = {f"{layer.name}.weight": layer.values for layer in read_layers(tmp_path / "theirs.safetensors")}
    assert set(theirs) == set(tensors)
    for name, weights in tensors.items():
        scale = np.abs(weights.astype(np.float64)).max(axis=1, keepdims=True) / 127
        error = weights.astype(np.float64) - np.rint(weights.astype(np.float64) / scale) * scale
        assert theirs[name]["weight_error"] == pytest.approx(float((error**2).sum()))
