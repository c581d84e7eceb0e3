"""The default text model as an ONNX graph, made from its weights without torch.

The graph is the whole pipeline: a BERT encoder (Devlin et al., NAACL 2019), the mean over tokens, and unit
length. Texts come one at a time, so there is no mask. Shapes: ``n`` texts, ``t`` tokens, ``d`` hidden size.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_OPSET = 17
"""The first with LayerNormalization as one operator."""
_IR_VERSION = 8
"""The form of files that came with that opset; older programs read it too."""


def write_bert_graph(folder: Path, target: Path) -> None:
    """Write the ONNX graph from token ids (n, t) to unit vectors (n, d).

    Args:
        folder: Holds ``config.json`` and ``model.safetensors`` of a BERT model with mean pooling.
        target: The file to write.

    Raises:
        ImportError: The package onnx is not installed.
        OSError: A file cannot be read or written.
    """
    import onnx

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    graph = _Graph(read_weights(folder / "model.safetensors"), config)
    graph.assemble()
    onnx.save(graph.model(), str(target))


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read the fp32 tensors of a safetensors file, by name.

    Its form: eight bytes with the length of a JSON header, the header with type, shape and place of each
    tensor, and then the tensors (github.com/huggingface/safetensors).
    """
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    tensors = {}
    for name, about in header.items():
        if name != "__metadata__" and about["dtype"] == "F32":
            first, end = about["data_offsets"]
            flat = np.frombuffer(content[start + first : start + end], dtype="<f4")
            tensors[name] = flat.reshape(about["shape"])
    return tensors


class _Graph:
    """The graph while it grows; methods add nodes and return the name of their result."""

    def __init__(self, weights: dict[str, NDArray[np.float32]], config: dict[str, Any]) -> None:
        from onnx import helper, numpy_helper

        self._helper: Any = helper
        self._tensor: Any = numpy_helper.from_array
        self._weights = weights
        self._layers = int(config["num_hidden_layers"])
        self._heads = int(config["num_attention_heads"])
        self._width = int(config["hidden_size"])
        self._epsilon = float(config["layer_norm_eps"])
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def assemble(self) -> None:
        """Add all nodes, from ``input_ids`` to ``embedding``."""
        hidden = self._embedded()
        for layer in range(self._layers):
            hidden = self._block(hidden, f"encoder.layer.{layer}")
        mean = self._node("ReduceMean", hidden, axes=[1], keepdims=0)
        length = self._node("ReduceL2", mean, axes=[1], keepdims=1)
        # torch.nn.functional.normalize has the same floor
        floored = self._node("Max", length, self._constant("floor", np.float32(1e-12)))
        self._node("Div", mean, floored, to="embedding")

    def model(self) -> Any:
        """The finished model."""
        helper = self._helper
        from onnx import TensorProto

        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])
        out = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", self._width])
        graph = helper.make_graph(
            self._nodes, "text model", [ids], [out], initializer=list(self._constants.values())
        )
        opsets = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)

    def _embedded(self) -> str:
        """Sum of the embeddings of word, place and kind, normalised; shape (n, t, d)."""
        words = self._node("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids")
        shape = self._node("Shape", "input_ids")
        tokens = self._node("Gather", shape, self._constant("one", np.array([1])))
        places = self._node(
            "Slice",
            self._weight("embeddings.position_embeddings.weight"),
            self._constant("zero", np.array([0])),
            tokens,
            self._constant("rows", np.array([0])),
        )
        kind = self._constant("kind", self._weights["embeddings.token_type_embeddings.weight"][0])
        total = self._node("Add", self._node("Add", words, kind), places)
        return self._normalised(total, "embeddings.LayerNorm")

    def _block(self, hidden: str, name: str) -> str:
        """One layer: attention and two dense layers, each added to its input and normalised."""
        attended = self._dense(
            self._attention(hidden, f"{name}.attention.self"), f"{name}.attention.output.dense"
        )
        hidden = self._normalised(self._node("Add", attended, hidden), f"{name}.attention.output.LayerNorm")
        wide = self._gelu(self._dense(hidden, f"{name}.intermediate.dense"))
        narrow = self._dense(wide, f"{name}.output.dense")
        return self._normalised(self._node("Add", narrow, hidden), f"{name}.output.LayerNorm")

    def _attention(self, hidden: str, name: str) -> str:
        """Softmax of queries and keys, over values; shape (n, t, d)."""
        query = self._by_head(self._dense(hidden, f"{name}.query"), [0, 2, 1, 3])
        key = self._by_head(self._dense(hidden, f"{name}.key"), [0, 2, 3, 1])
        value = self._by_head(self._dense(hidden, f"{name}.value"), [0, 2, 1, 3])
        root = self._constant("root", np.float32(math.sqrt(self._width // self._heads)))
        scores = self._node("Div", self._node("MatMul", query, key), root)
        mixed = self._node("MatMul", self._node("Softmax", scores, axis=-1), value)
        joined = self._node("Transpose", mixed, perm=[0, 2, 1, 3])
        return self._node("Reshape", joined, self._constant("joined", np.array([0, 0, self._width])))

    def _by_head(self, hidden: str, order: list[int]) -> str:
        heads = self._constant("heads", np.array([0, 0, self._heads, self._width // self._heads]))
        return self._node("Transpose", self._node("Reshape", hidden, heads), perm=order)

    def _dense(self, hidden: str, name: str) -> str:
        product = self._node("MatMul", hidden, self._weight(f"{name}.weight", turned=True))
        return self._node("Add", product, self._weight(f"{name}.bias"))

    def _normalised(self, hidden: str, name: str) -> str:
        scale, shift = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        return self._node("LayerNormalization", hidden, scale, shift, axis=-1, epsilon=self._epsilon)

    def _gelu(self, hidden: str) -> str:
        """``x / 2 * (1 + erf(x / sqrt(2)))``, as BERT has it."""
        root, one, half = (
            self._constant(name, np.float32(value))
            for name, value in {"root of two": math.sqrt(2), "unit": 1.0, "half": 0.5}.items()
        )
        error = self._node("Erf", self._node("Div", hidden, root))
        return self._node("Mul", self._node("Mul", hidden, self._node("Add", error, one)), half)

    def _weight(self, name: str, *, turned: bool = False) -> str:
        return self._constant(name, self._weights[name].T.copy() if turned else self._weights[name])

    def _constant(self, name: str, value: Any) -> str:
        if name not in self._constants:
            self._constants[name] = self._tensor(np.asarray(value), name)
        return name

    def _node(self, kind: str, *inputs: str, to: str = "", **attributes: Any) -> str:
        result = to or f"{kind} {len(self._nodes)}"
        self._nodes.append(self._helper.make_node(kind, list(inputs), [result], result, **attributes))
        return result
