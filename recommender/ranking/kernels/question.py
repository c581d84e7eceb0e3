"""A question about one kernel: sizes, precision, language and device, all that a tile depends on."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kg.errors import InputError
from kg.nouns.entities import Problem
from kg.nouns.values import Value
from recommender.cost_model.facts.device import ELEMENT_BYTES, Device, precision
from recommender.ranking.kernels.language import Language, choose_language, form_of
from recommender.space.made.kernels import PRODUCT, KernelKind, as_product, kernel_kind
from recommender.space.made.shapes import canonical, sizes

FRAMEWORKS = (
    "triton-ascend", "triton", "cann", "vllm", "sglang", "lightllm", "vllm-ascend", "cuda", "opencl",
    "clblast",
)  # fmt: skip
"""Software that a kernel is tuned in; the first that the question names is shown."""

_USUAL = {Language.TRITON: "triton", Language.ASCEND_C: "cann"}
_OPERANDS = MappingProxyType(
    {
        "fp8_w8a8": "fp8", "float8_e4m3": "fp8", "float8_e4m3fn": "fp8", "float8_e5m2": "fp8",
        "fp8_block": "fp8", "int8_w8a8": "int8", "int8_w8a16": "bf16", "int4_w4a16": "bf16",
        "fp8_w8a16": "bf16", "int8_wo": "bf16", "int4_wo": "bf16",
    }
)  # fmt: skip
"""Formats whose operands meet in another: weights of 8 or 4 bits beside 16-bit numbers are widened first."""

AS_PRODUCT = "a convolution over channels: taken as the product of pixels, filters and what a pixel reads"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelQuestion:
    """A question about one kernel.

    Attributes:
        operator: Its name in the question.
        kernel: Its kind.
        sizes: Of the problem, by name.
        number: Precision of the operands, such as ``"fp16"``.
        device: Where it runs.
        language: What it is written in.
        framework: Software that it is tuned in; empty if the question names none.
        version: Its release; empty if not stated.
        block: Side of the blocks that share a scale; None where the operands are not quantised by blocks.
        notes: What was assumed.
    """

    operator: str
    kernel: KernelKind
    sizes: Mapping[str, int]
    number: str
    device: Device
    language: Language
    framework: str = ""
    version: str = ""
    block: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def form(self) -> str:
        """The form of its space."""
        return form_of(self.language, self.kernel)

    @property
    def element_bytes(self) -> float:
        """Bytes of an element of the operands."""
        return ELEMENT_BYTES[self.number]


def kernel_question(problem: Problem, facts: Mapping[str, float | str]) -> KernelQuestion:
    """Read the question of a kernel.

    Args:
        problem: The question.
        facts: Facts of its hardware.

    Raises:
        InputError: No such kernel, a size that is missing or unknown, a precision that the device has not, or
            a language that it does not run.
        MissingFactError: A peak or a number of cores that is not known.
    """
    work, device = problem.workload, Device(problem.hardware.name, facts)
    kernel = kernel_kind(work.operator)
    own = (*kernel.needs, *kernel.may, *(("C", "K", "B") if "FH" in kernel.needs else ()))
    stated: Mapping[str, object] = {canonical(name, own): value for name, value in work.shape.items()}
    product = as_product(stated) if "FH" in kernel.needs else None
    operator = work.operator
    if product is not None:
        operator, kernel, stated = PRODUCT, kernel_kind(PRODUCT), product
    found = sizes(stated, kernel.needs, may_lack=kernel.may)
    number, notes = _number(work.precision, device, kernel)
    language, note = choose_language(
        kernel, operator, device, work.traits.get("language"), tuple(problem.software)
    )
    framework = next((name for name in FRAMEWORKS if name in problem.software), _USUAL.get(language, ""))
    if framework == "triton" and device.ascend:
        framework = "triton-ascend"
    return KernelQuestion(
        operator=operator,
        kernel=kernel,
        sizes=found,
        number=number,
        device=device,
        language=language,
        framework=framework,
        version=str(problem.software.get(framework) or ""),
        block=_block(work.traits.get("block_shape")),
        notes=tuple(text for text in (notes, note, product and AS_PRODUCT) if text),
    )


def _number(stated: str | None, device: Device, kernel: KernelKind) -> tuple[str, str]:
    """Precision of the operands, and a note where it was assumed.

    Raises:
        InputError: The device does not compute in it.
    """
    if stated is None:
        number = "fp16" if device.get("peak_fp16_flops", "peak_int8_ops") else "fp32"
        return number, f"precision: taken as {number}; --precision says another"
    number = precision(_OPERANDS.get(stated.lower(), stated))
    if kernel.has_products:
        device.peak(number)
    return number, ""


def _block(value: Value) -> int | None:
    """The side of the blocks that share a scale, along K."""
    sides = value if isinstance(value, tuple) else (value,)
    whole = [side for side in sides if isinstance(side, int) and not isinstance(side, bool)]
    if any(side < 1 for side in whole):
        raise InputError(f"block_shape: {value!r} is no size", hint="such as --trait block_shape=128")
    return min(whole, default=None)
