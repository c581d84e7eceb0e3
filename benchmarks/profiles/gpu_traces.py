"""Traces of GPUs, made with one mechanism of lost time each, for both vendors; and programs that are tuned already.

A step is a row of layers of a model under DDP. A mechanism spends about a quarter of the step as it would on a real
device; names of kernels, calls and ranges are those that PyTorch, cuBLAS, Tensile and the runtimes write.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LAYERS, STEPS = 24, 3
_ELEMENT = "void at::native::vectorized_elementwise_kernel<4, at::native::{}<float>, at::detail::Array<char*, 3>>(int)"
_NAMES = {
    "nvidia": {"bf16": "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn", "fp32": "ampere_sgemm_128x64_tn"},
    "amd": {"bf16": "Cijk_Alik_Bljk_BBS_BH_Bias_MT128x128x64", "fp32": "Cijk_Alik_Bljk_SB_Bias_MT64x64x16"},
}  # fmt: skip
_API = {"nvidia": "cuda", "amd": "hip"}


@dataclass
class GpuTrace:
    """Events of one rank while they are written.

    Attributes:
        vendor: nvidia or amd.
        width: Type of its products.
        at: Where the device is, microseconds.
        events: Those written.
    """

    vendor: str
    width: str = "bf16"
    at: float = 100.0
    events: list[dict[str, Any]] = field(default_factory=list)

    def kernel(
        self, name: str, lasts: float, *, stream: int = 7, cat: str = "kernel", gap: float = 1.0
    ) -> None:
        args = {"stream": stream, "device": 0, "grid": [256, 1, 1]}
        self._event(cat, name, self.at, lasts, args=args)
        self.call("LaunchKernel", 5.0)
        self.at += lasts + gap

    def call(self, name: str, lasts: float, cat: str = "") -> None:
        own = f"{_API[self.vendor]}_runtime"
        self._event(cat or own, name if cat else f"{_API[self.vendor]}{name}", self.at, lasts)

    def idle(self, lasts: float) -> None:
        self.at += lasts

    def product(self, lasts: float) -> None:
        self.kernel(_NAMES[self.vendor][self.width], lasts)

    def _event(self, cat: str, name: str, at: float, lasts: float, **more: Any) -> None:
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "ts": at, "dur": lasts, "pid": 0, "tid": 7, **more}
        )

    def write(self, folder: Path, layer: Callable[[GpuTrace, int], None], **beside: Any) -> Path:
        for step in range(STEPS):
            began = self.at
            for number in range(LAYERS):
                self.product(400.0)
                self.kernel(
                    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>(x)", 40.0
                )
                layer(self, number)
            self.kernel(
                "void multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float>>(x)", 150.0
            )
            self._event("user_annotation", "Optimizer.step#AdamW.step", began, 10.0)
            self._event("user_annotation", "DistributedDataParallel.forward", began, 10.0)
            self._event("user_annotation", f"ProfilerStep#{step}", began, self.at - began)
        folder.mkdir(exist_ok=True)
        info = {"rank": 0, "world_size": 8, "backend": "nccl"}
        content = {"schemaVersion": 1, "distributedInfo": info, **beside, "traceEvents": self.events}
        (folder / "rank0.json").write_text(json.dumps(content))
        return folder


def late_host(trace: GpuTrace, number: int) -> None:
    trace.idle(150.0)


def short_kernels(trace: GpuTrace, number: int) -> None:
    for _ in range(10):
        trace.kernel(_ELEMENT.format("FillFunctor"), 3.0, gap=14.0)


def scalars(trace: GpuTrace, number: int) -> None:
    trace.call("aten::item", 160.0, "cpu_op")
    trace.call("StreamSynchronize", 150.0)
    trace.idle(150.0)


def allocations(trace: GpuTrace, number: int) -> None:
    trace.call("Malloc", 80.0)
    trace.call("Free", 80.0)
    trace.idle(165.0)


def garbage(trace: GpuTrace, number: int) -> None:
    if number == LAYERS // 2:
        trace.call("GC", 3600.0, "GC")
        trace.idle(3600.0)


def slow_loader(trace: GpuTrace, number: int) -> None:
    if not number:
        trace.call("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 3700.0, "user_annotation")
        trace.idle(3600.0)


def reductions(trace: GpuTrace, number: int) -> None:
    trace.kernel(
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 160.0, stream=13
    )


def wide_products(trace: GpuTrace, number: int) -> None:
    trace.width = "fp32"


def layouts(trace: GpuTrace, number: int) -> None:
    names = {
        "nvidia": "void cudnn::ops::nchwToNhwcKernel<float, float>(x)",
        "amd": "batched_transpose_32x32_half",
    }
    trace.kernel(names[trace.vendor], 160.0)


def casts(trace: GpuTrace, number: int) -> None:
    trace.kernel(
        "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda(x), LoadWithCast<1>>(x)", 160.0
    )


def copies(trace: GpuTrace, number: int) -> None:
    trace.kernel("void at::native::elementwise_kernel<128, 4, direct_copy_kernel_cuda(x)>(x)", 160.0)


def unfused(trace: GpuTrace, number: int) -> None:
    for name in ("MulFunctor", "CUDAFunctor_add", "MulFunctor", "CUDAFunctor_add"):
        trace.kernel(_ELEMENT.format(name), 50.0)


def pageable(trace: GpuTrace, number: int) -> None:
    trace.kernel("Memcpy HtoD (Pageable -> Device)", 160.0, cat="gpu_memcpy")


def compiled_modules(trace: GpuTrace, number: int) -> None:
    trace.call("cuModuleLoadData" if trace.vendor == "nvidia" else "hipModuleLoadData", 220.0, "cuda_driver")
    trace.idle(165.0)


MECHANISMS: dict[str, tuple[Callable[[GpuTrace, int], None], frozenset[str]]] = {
    "the host is late": (late_host, frozenset({"host-bound"})),
    "kernels shorter than launches": (short_kernels, frozenset({"kernel-launch-overhead"})),
    "scalars are read": (scalars, frozenset({"host-device-synchronisation", "item-calls"})),
    "memory is asked for again": (allocations, frozenset({"memory-allocation-stall"})),
    "garbage is collected": (garbage, frozenset({"python-gc-high-latency"})),
    "the loader has no workers": (slow_loader, frozenset({"slow-dataloader"})),
    "gradients wait": (reductions, frozenset({"exposed-communication", "data-parallel-communication"})),
    "products in 32 bit": (wide_products, frozenset({"precision-excess"})),
    "layouts do not match": (layouts, frozenset({"layout-transform"})),
    "types do not match": (casts, frozenset({"cast-traffic"})),
    "views are made contiguous": (copies, frozenset({"memory-copies"})),
    "operators are not fused": (unfused, frozenset({"unfused-operators"})),
    "batches are copied late": (pageable, frozenset({"host-to-device-copy"})),
    "modules are loaded in the step": (compiled_modules, frozenset({"operator-compilation-latency"})),
}
"""What the world does, and the ids that name it."""


def tuned(trace: GpuTrace, number: int) -> None:
    """Everything on that a trace can show, and still a late host and exposed reductions."""
    trace.kernel("triton_poi_fused_add_native_layer_norm_0", 30.0)
    trace.kernel("Memcpy HtoD (Pinned -> Device)", 3.0, cat="gpu_memcpy")
    trace.call("GraphLaunch", 9.0)
    trace.call("aten::_fused_adamw_", 9.0, "cpu_op")
    trace.call("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 30.0, "user_annotation")
    late_host(trace, number)
    reductions(trace, number)


TUNED_ENVIRONMENT = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "NCCL_DEBUG": "INFO"}
IN_FORCE = frozenset(
    {
        *(
            "torch-compile",
            "torch-cuda-graphs",
            "fused-torch-optimizer",
            "loader-pinned-memory",
            "loader-workers",
        ),
        *("autocast-bf16", "cuda-expandable-segments", "nccl-topology-log"),
    }
)
"""Strategies that a tuned program has in force: advising one contradicts its trace."""
