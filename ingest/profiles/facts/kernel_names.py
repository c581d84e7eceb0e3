"""Names of GPU kernels: the kind of operator that each stands for, and the type its products compute in.

Libraries name their kernels by templates of hundreds of characters. What a reader and an analyser need of
them is the operator (``Add``, ``Gemm``, ``LayerNorm``) and, of a product, the type: both stand in the name.

Source:
    PyTorch, ``aten/src/ATen/native/cuda``: functors inside ``elementwise_kernel`` and ``reduce_kernel``;
    CUTLASS and cuBLAS: ``s1688`` is an instruction of TF32 from compute capability 8.0 on, ``884`` and
    ``16816`` of 16-bit types, ``sgemm`` and ``simt_s`` are 32 bit without tensor cores; AMD Tensile: the
    letters behind the index names are the types (``SB`` single, ``HHS`` half, ``BBS`` bfloat16).
"""

from __future__ import annotations

import re
from functools import lru_cache

MOST_NAMES = 1 << 16
"""Names that are remembered; a program has a few thousand kernels."""
SHORT = 60
"""Characters that are kept of a name which stands for no known operator."""

_PRODUCT = re.compile(
    r"(?i)gemm|gemv|^Cijk_|s?cudnn_.*(?:relu|conv|nhwc|interior|small|medium|large)|"
    r"xmma_|(?:f|d|w)(?:prop|grad)_|wgrad_alg|dgrad_engine|implicit_convolve|winograd|conv2d_grouped|"
    r"cutlass.*(?:tensorop|simt)|igemm|naive_conv|nvjet_",
)
_CONVOLUTION = re.compile(r"(?i)cudnn|conv|fprop|dgrad|wgrad|winograd|implicit_gemm|igemm_(?:fwd|bwd|wrw)")
_TYPES = (
    ("FLOAT8", re.compile(r"(?i)fp8|e4m3|e5m2|f8f|_qqq|nvjet_q")),
    ("BF16", re.compile(r"(?i)bf16|bfloat16|nvjet_t")),
    ("TF32", re.compile(r"(?i)tf32|nvjet_s")),
    (
        "FLOAT16",
        re.compile(r"(?i)fp16|f16|__half|half|hgemm|h884|h1688|h16816|s884|s16816|hcudnn"),
    ),
    ("TF32", re.compile(r"(?:80|90|100|120|ampere|sm8|sm9).*s1688|s1688(?:gemm|fprop|dgrad|wgrad)")),
    ("INT8", re.compile(r"int8|i8816|imma|i16832")),
    ("DOUBLE", re.compile(r"(?i)dgemm|double|f64")),
    ("FLOAT", re.compile(r"(?i)sgemm|scudnn|f32f32|simt_s|<float|float,|_fp32|ffma")),
)
"""Types of products by what stands in their names; the first that fits counts."""
_TENSILE = re.compile(r"^Cijk_[A-Za-z]+_[A-Za-z]+_([A-Z0-9]+)")
_TENSILE_TYPES = (
    ("F8", "FLOAT8"), ("B8", "FLOAT8"), ("I8", "INT8"), ("4xi8", "INT8"),
    ("S_MX", "TF32"), ("SX", "TF32"), ("H", "FLOAT16"), ("B", "BF16"), ("S", "FLOAT"), ("D", "DOUBLE"),
)  # fmt: skip

_KINDS = (
    ("FlashAttention", re.compile(r"flash_(?:fwd|bwd)|fmha|flash_attn|PyTorchMemEff|attn_fwd|attn_bwd")),
    ("LayoutTransform", re.compile(r"(?i)nchwToNhwc|nhwcToNchw|tensorTransform|batched_transpose")),
    ("Transpose", re.compile(r"(?i)transpose")),
    ("Concat", re.compile(r"CatArrayBatchedCopy")),
    ("MultiTensorAdam", re.compile(r"(?i)multi_tensor_apply.*adam|fused_?adam")),
    ("MultiTensor", re.compile(r"multi_tensor_apply")),
    ("LayerNormGrad", re.compile(r"(?i)layer_?norm.*(?:grad|backward)|GammaBetaBackward")),
    ("RmsNormGrad", re.compile(r"(?i)rms_?norm.*(?:bwd|backward)")),
    ("LayerNorm", re.compile(r"(?i)layer_?norm|RowwiseMoments|ln_fwd")),
    ("RmsNorm", re.compile(r"(?i)rms_?norm")),
    ("BatchNormGrad", re.compile(r"(?i)bn_bw|batch_?norm.*backward|BatchNormBwd")),
    ("BatchNorm", re.compile(r"(?i)bn_fw|batch_?norm|BatchNormFwd")),
    ("SoftmaxGrad", re.compile(r"(?i)softmax_?(?:warp)?_?backward")),
    ("Softmax", re.compile(r"(?i)softmax")),
    ("NllLoss", re.compile(r"(?i)nll_loss|cross_entropy")),
    ("EmbeddingGrad", re.compile(r"(?i)embedding.*backward")),
    ("Embedding", re.compile(r"(?i)embedding")),
    ("MaxPool", re.compile(r"(?i)max_pool")),
    ("Dropout", re.compile(r"(?i)dropout")),
    ("Cast", re.compile(r"(?:bfloat16|float16|float8)\w*_copy_kernel|direct_copy_kernel.*WithCast")),
    ("ViewCopy", re.compile(r"direct_copy_kernel|copy_device_to_device")),
    ("Fill", re.compile(r"FillFunctor")),
    ("Index", re.compile(r"(?i)index_(?:elementwise|put|select)|indexSelect|gather|scatter|index_kernel")),
    ("Sort", re.compile(r"(?i)radix|sort|topk")),
    ("ReduceMean", re.compile(r"MeanOps")),
    ("ReduceSum", re.compile(r"(?i)reduce_kernel.*(?:sum|Norm)")),
    ("Reduce", re.compile(r"(?i)reduce_kernel")),
)  # fmt: skip
"""Kinds of kernels by what stands in their names; the first that fits counts."""
BEFORE_PRODUCTS = 4
"""Kinds that are looked for before products: their names may hold a product's."""
_ELEMENTWISE = re.compile(r"elementwise|unrolled|gpu_kernel_impl")
_FUNCTORS = (
    ("Rsqrt", "rsqrt"), ("Sqrt", "sqrt"), ("AddCDiv", "addcdiv"), ("AddCMul", "addcmul"), ("Silu", "silu"),
    ("Gelu", "gelu"), ("Sigmoid", "sigmoid"), ("Tanh", "tanh"), ("Relu", "threshold"), ("Relu", "clamp"),
    ("Erf", "erf_"), ("Exp", "exp_kernel"), ("Pow", "pow_"), ("Neg", "neg_"), ("Log", "log_"),
    ("Reciprocal", "reciprocal"), ("MaskedFill", "masked_fill"), ("Select", "where_kernel"),
    ("Maximum", "maximum"), ("Minimum", "minimum"), ("Abs", "absfunctor"), ("Div", "divfunctor"),
    ("Div", "div_"), ("Mul", "mulfunctor"), ("Mul", "mul_"), ("Sub", "subfunctor"),
    ("Add", "functor_add"), ("Add", "addfunctor"), ("Add", "functoronself_add"), ("Add", "add_"),
)  # fmt: skip
"""Operators by a part of the functor that an elementwise kernel of PyTorch applies, in small letters."""


@lru_cache(maxsize=MOST_NAMES)
def gpu_kernel(name: str) -> tuple[str, str]:
    """The kind of a GPU kernel and, of a product, the type of its inputs (empty if the name has none).

    A kernel that stands for no operator known here keeps its own name, without arguments and namespaces.
    """
    if name.startswith("triton_"):
        return short_name(name).rstrip("0123456789").rstrip("_"), ""  # numbered in each module
    for kind, pattern in _KINDS[:BEFORE_PRODUCTS]:
        if pattern.search(name):
            return kind, ""
    bare = name.replace("fbgemm", "")  # a library whose kernels are no products
    if _PRODUCT.search(bare):
        return ("Conv2D" if _CONVOLUTION.search(bare) else "Gemm"), _type_of(bare)
    for kind, pattern in _KINDS[BEFORE_PRODUCTS:]:
        if pattern.search(bare):
            return kind, ""
    if _ELEMENTWISE.search(bare):
        low = bare.lower()
        return next((kind for kind, part in _FUNCTORS if part in low), "Elementwise"), ""
    return short_name(name), ""


def _type_of(name: str) -> str:
    tensile = _TENSILE.match(name)
    if tensile:
        letters = tensile[1]
        return next((kind for start, kind in _TENSILE_TYPES if letters.startswith(start)), "")
    return next((kind for kind, pattern in _TYPES if pattern.search(name)), "")


def short_name(name: str) -> str:
    """A kernel's own name: without return type, arguments, template arguments and namespaces."""
    bare = name.replace("(anonymous namespace)::", "").removeprefix("void ")
    pieces, depth = [], 0
    for char in bare:
        if char == "<":
            depth += 1
        elif char == ">":
            depth = max(0, depth - 1)
        elif char == "(" and not depth:
            break
        elif not depth:
            pieces.append(char)
    plain = "".join(pieces).strip().rpartition("::")[2]
    return (plain or name.strip())[:SHORT]
