"""The facts of a device that the cost model uses; a missing one is refused by name.

Units: operations and bytes per second, bytes, hertz, watt. The names of facts are those of
``docs/knowledge-format.md``.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kg.errors import InputError, MissingFactError
from kg.terms.precisions import GGUF_BITS
from recommender.cost_model.facts.physics import PHYSICS

ELEMENT_BYTES = MappingProxyType(
    {"fp32": 4.0, "tf32": 4.0, "fp16": 2.0, "bf16": 2.0, "fp8": 1.0, "int8": 1.0, "int4": 0.5,
     "w4a16": 0.5, "w8a16": 1.0, "w4a8": 0.5, "fp4": 0.5}
    | {name: bits / 8 for name, bits in GGUF_BITS.items()}
)  # fmt: skip
"""Bytes of one element of a weight, by precision."""

PRECISION_NAMES = MappingProxyType(
    {
        "float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16",
        "float8": "fp8", "w8a8": "int8", "w8a8_dynamic": "int8", "i8": "int8", "w4a8_dynamic": "w4a8",
        "float4": "fp4", "nvfp4": "fp4", "mxfp4": "fp4", "mxfp8": "fp8",
    }
)  # fmt: skip

UNPACKED = MappingProxyType({"fp8": "w8a16", **dict.fromkeys(("fp4", "int4", "mxfp4", "nvfp4"), "w4a16")})
"""Formats that weights are kept in where the device multiplies 16 bits instead, and what that is."""
NOT_WIDENING = frozenset({"tensorrt-llm"})
"""Engines that multiply NVFP4 on devices with it alone, from Blackwell on (TensorRT Model Optimizer, support
matrix); others widen it elsewhere."""

_PEAKS = MappingProxyType(
    {
        "fp32": ("peak_fp32_flops", "peak_matrix_fp32_flops", "measured_peak_fp32_flops",
                 "sustained_fp32_flops"),
        "tf32": ("peak_tf32_flops", "measured_peak_tf32_flops"),
        "fp16": ("peak_fp16_flops", "measured_peak_fp16_flops"),
        "bf16": ("peak_bf16_flops", "measured_peak_bf16_flops"),
        "fp8": ("peak_fp8_flops",),
        "fp4": ("peak_fp4_flops",),
        "int8": ("peak_int8_ops", "measured_peak_int8_ops"),
        "int4": ("peak_int4_ops",),
        # weights alone in few bits are widened before the product; llama.cpp multiplies those of GGUF files
        # in 8 bits on GPUs before bf16 (pull requests 2160 and 7860)
        "w4a16": ("peak_bf16_flops", "peak_fp16_flops"),
        "w8a16": ("peak_bf16_flops", "peak_fp16_flops"),
        "w4a8": ("peak_int8_ops",),
        **dict.fromkeys(GGUF_BITS, ("peak_bf16_flops", "peak_int8_ops", "peak_fp16_flops")),
    }
)  # fmt: skip

_IN_SIXTEEN = frozenset({"fp16", "bf16", "w4a16", "w8a16", *GGUF_BITS})
"""Formats that are multiplied in 16 bits."""

FLOPS_PER_CYCLE = 2 * 4096
"""16-bit operations of one DaVinci cube core per cycle: 16 x 16 x 16 multiply-adds (Hot Chips 2019)."""


def precision(name: str) -> str:
    """The canonical name of a precision: ``"bfloat16"`` gives ``"bf16"``.

    Raises:
        InputError: No such precision.
    """
    short = PRECISION_NAMES.get(name.lower(), name.lower())
    if short not in ELEMENT_BYTES:
        raise InputError(f"no precision named {name!r}", hint=f"known: {', '.join(ELEMENT_BYTES)}")
    return short


@dataclass(frozen=True, slots=True)
class Device:
    """One device.

    Attributes:
        id: Node of the hardware tree.
        facts: Its facts, inherited ones included.
    """

    id: str
    facts: Mapping[str, float | str] = field(repr=False)

    def number(self, *names: str) -> float:
        """The first of ``names`` that is known.

        Raises:
            MissingFactError: None of them is; the message names them.
        """
        found = self.get(*names)
        if found is None:
            wanted = " or ".join(names)
            raise MissingFactError(
                f"{self.id}: {wanted} is not known", hint="add it: tunegraph kb add hardware FILE"
            )
        return found

    def get(self, *names: str) -> float | None:
        """The first of ``names`` that is known, or None."""
        for name in names:
            value = self.facts.get(name)
            if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                return float(value)
        return None

    @property
    def ascend(self) -> bool:
        """True if its cores are DaVinci cube cores."""
        return "cube_macs_per_cycle_fp16" in self.facts or ("core_design" in self.facts and not self.arrayed)

    @property
    def arrayed(self) -> bool:
        """True if a few wide matrix arrays of one program share it (TPU, Gaudi, Trainium).

        Such a chip has no cores that take tiles apart from each other: neither the clock of a core nor the
        cost of a task on one bounds anything.
        """
        return str(self.facts.get("core_design", "")).startswith("matrix array")

    @property
    def amd(self) -> bool:
        """True if it is a GPU of AMD."""
        return str(self.facts.get("compute_capability", "")).startswith("gfx")

    @property
    def nvidia(self) -> bool:
        """True if it is a GPU of NVIDIA."""
        return str(self.facts.get("compute_capability", "")).replace(".", "").isdecimal()

    @property
    def joint(self) -> bool:
        """True if cube and vector unit share a core: one reads the results of the other in place."""
        return str(self.facts.get("core_design", "")).startswith("joint")

    @property
    def sixteen_bit(self) -> str:
        """The 16-bit format that it computes in: bf16 where it has that."""
        return "bf16" if self.get(*_PEAKS["bf16"]) else "fp16"

    def computed_precision(self, name: str) -> str:
        """The format that weights in ``name`` are multiplied in: their own if it can be, else a wider one.

        Engines on GPUs unpack MXFP4 where a device has no FP4 (vLLM, ``quantization/mxfp4.py``), on those of
        NVIDIA from compute capability 8.0 NVFP4 and FP8 too (vLLM, ``marlin_utils_fp4.py`` and
        ``marlin_utils_fp8.py``); vllm-ascend runs such networks unpacked to 16 bit.
        """
        try:
            self.peak(name)
        except (InputError, MissingFactError):
            has_marlin = self.nvidia and self.sixteen_bit == "bf16"
            is_kept = name in {"fp4", "int4"} or has_marlin or (name == "mxfp4" and not self.ascend)
            return UNPACKED.get(name, self.sixteen_bit) if is_kept else self.sixteen_bit
        return name

    @property
    def cores(self) -> float:
        """Cube cores, streaming multiprocessors or compute units; one where arrays are not counted."""
        known = self.get("cube_cores", "compute_units")
        return 1.0 if known is None and self.arrayed else self.number("cube_cores", "compute_units")

    @property
    def memory_bandwidth(self) -> float:
        """Nominal bandwidth of device memory, byte/s."""
        return self.number("memory_bandwidth_bytes_per_s")

    @property
    def reserved_bytes(self) -> float:
        """Memory that the driver and a program's start hold: measured where known."""
        usual = PHYSICS["reserved_bytes" if self.ascend else "gpu_reserved_bytes"]
        return self.get("reserved_memory_bytes") or usual

    @property
    def memory_capacity(self) -> float:
        """``memory_bytes``; NaN where it is not known."""
        return self.memory_bytes if self.get("memory_bytes") else float("nan")

    @property
    def memory_bytes(self) -> float:
        """Memory that a program can allocate: measured where known, else a share of the nominal."""
        usable = self.get("usable_memory_bytes", "measured_usable_memory_bytes")
        nominal = self.number("memory_bytes")
        is_stacked = str(self.facts.get("memory_type", "")).startswith("HBM") and not self.ascend
        share = PHYSICS["stacked_memory_share" if is_stacked else "memory_share"]
        return min(usable, nominal) if usable is not None else share * nominal

    @property
    def l2_bytes(self) -> float:
        """Size of the last-level cache; 0 where unknown, so that everything comes from memory."""
        return self.get("l2_bytes") or 0.0

    @property
    def clock(self) -> float:
        """Clock of the matrix cores, hertz: stated, or implied by the 16-bit peak (Ascend).

        Infinite of matrix arrays, so that what a core loads in a cycle bounds nothing.
        """
        if self.arrayed:
            return math.inf
        stated = self.get("clock_hz")
        if stated is not None or not self.ascend:
            return stated if stated is not None else self.number("clock_hz", "clock_base_hz")
        return self.peak("fp16") / self.cores / FLOPS_PER_CYCLE

    def peak(self, name: str) -> float:
        """Dense matrix throughput in one precision, operation/s.

        Raises:
            InputError: The device has no such precision (FP8 on the 910 and 910B).
            MissingFactError: The peak is not known.
        """
        short = precision(name)
        found = self.get(*_PEAKS[short])
        if found is not None and (self.amd or self.nvidia) and short in _IN_SIXTEEN:
            # where 16 bits are slower than 32 (Pascal: 1 in 64), libraries multiply in 32 bits
            return max(found, self.get(*_PEAKS["fp32"]) or 0.0)
        if found is not None:
            return found
        if short == "fp16" and self.ascend and self.get("peak_int8_ops"):
            # a cube multiplies 16 x 16 x 16 numbers a cycle in 16 bit, 16 x 32 x 16 in 8 bit
            return self.number("peak_int8_ops") / 2
        sixteen = (*_PEAKS["fp16"], *_PEAKS["bf16"], *(_PEAKS["int8"] if self.ascend else ()))
        if short in {"bf16", "fp8", "fp4", "tf32", "int4"} and self.get(*sixteen):
            halved = {"fp16"} if self.ascend and self.get("peak_int8_ops") else set()
            held = [known for known, facts in _PEAKS.items() if known in halved or self.get(*facts)]
            raise InputError(
                f"precision: {self.id} has no {short} matrix unit", hint=f"it computes {', '.join(held)}"
            )
        return self.number(*_PEAKS[short])
