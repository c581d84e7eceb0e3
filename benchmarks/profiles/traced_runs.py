"""Training and serving steps simulated as a PyTorch trace: one host thread, one device, calls in real time.

The host launches kernels one after another; the device runs them in order. What the world does to the run is in
the hooks of :class:`World`: it changes what the host and the device do, and the trace is what then happened.
Names are those that PyTorch, cuBLAS, CUTLASS, NCCL and ROCm write.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
GEMM_32 = "ampere_sgemm_128x64_tn"
ATTENTION = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Flash_fwd_params)"
ATTENTION_BACK = (
    "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128>>(Flash_bwd_params)"
)
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>"
NORM_BACK = (
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>"
)
GELU = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>"
GELU_BACK = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluBackwardCUDAKernelImpl>"
SOFTMAX = (
    "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>"
)
SCALE = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>>"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
COPY = "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda>"
CAST = "void at::native::unrolled_elementwise_kernel<at::native::bfloat16tofloat32_copy_kernel_cuda>"
ADAM = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4>>"
LOSS = "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
BATCH_NORM = (
    "void at::native::batch_norm_collect_statistics_kernel<at::native::InvStd, c10::BFloat16, c10::BFloat16, float, int>",
    "void at::native::batch_norm_transform_input_kernel<c10::BFloat16, c10::BFloat16, float, true, int>",
)

BATCH_NORM_BACK = "void at::native::batch_norm_backward_kernel<c10::BFloat16, c10::BFloat16, float, int>"

Kernel = tuple[str, float]
"""Name and time of a kernel, microseconds."""
Hook = Callable[["Run", int, str], None]
"""Action at a place of a step: ``begin``, ``forward``, ``layer``, ``back``, ``backward``, ``end``."""


@dataclass(frozen=True)
class World:
    """A job.

    Attributes:
        device: Its name in the trace.
        steps: Of the capture.
        layers: Blocks of the model.
        size: Factor of all kernels.
        launch_us: What the host needs for a launch.
        is_training: Backward, reduction and optimiser run too.
        reduces: Gradients are reduced between devices.
        batch_norm: Norms run as two kernels forward.
        marked: Steps are marked in the trace.
        runtime: Prefix of the runtime: cuda or hip.
        layer: Forward kernels of a block with their times.
        hooks: What the world does besides.
        rate: Factor of the time of every kernel by its name.
        blocking_us: Time from the end of a kernel to the return of its launch; None where launches do not wait.
    """

    device: str = "NVIDIA A100-SXM4-80GB"
    steps: int = 5
    layers: int = 8
    size: float = 1.0
    launch_us: float = 5.0
    is_training: bool = True
    reduces: bool = True
    batch_norm: bool = False
    marked: bool = True
    runtime: str = "cuda"
    layer: tuple[Kernel, ...] = ((NORM, 30.0), (GEMM, 210.0), (ATTENTION, 180.0), (GEMM, 160.0), (NORM, 30.0),
                                 (GEMM, 300.0), (GELU, 45.0), (GEMM, 300.0))  # fmt: skip
    hooks: tuple[Hook, ...] = ()
    rate: Callable[[str], float] = field(default=lambda name: 1.0)
    blocking_us: float | None = None


_BACK = {NORM: ((NORM_BACK, 1.6),), ATTENTION: ((ATTENTION_BACK, 2.4),), GELU: ((GELU_BACK, 1.3),)}


class Run:
    """A simulated capture while it grows.

    Args:
        world: The job.
        random: Draws the noise of kernels.
    """

    def __init__(self, world: World, random: np.random.Generator) -> None:
        self.world, self.random = world, random
        self.now, self.busy_to, self.number, self.step, self.layer = 1000.0, 1000.0, 0, 0, 0
        self.events: list[dict[str, Any]] = []
        self._frame = 0

    def event(self, category: str, name: str, start: float, lasted: float, **arguments: object) -> None:
        tid = 7 if category in {"kernel", "gpu_memcpy"} else 1
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": 0 if tid == 7 else 1, "tid": tid,
                            "ts": round(start, 3), "dur": round(lasted, 3), "args": arguments})  # fmt: skip

    def launch(self, name: str, spent: float) -> None:
        """Launch a kernel, and let the device run it behind the ones before."""
        self.number += 1
        call = f"{self.world.runtime}LaunchKernel"
        began, took = self.now, 0.8 * self.world.launch_us
        self.now += self.world.launch_us
        lasted = spent * self.world.size * self.world.rate(name) * float(self.random.lognormal(0, 0.01))
        start = max(self.now, self.busy_to + 0.8)
        if self.world.blocking_us is not None:
            took = start + lasted + self.world.blocking_us - began
            self.now = began + took
        self.event("cuda_runtime", call, began, took, correlation=self.number)
        more = {"Collective name": "allreduce", "Group size": 8} if name == REDUCE else {}
        self.event("kernel", name, start, lasted, correlation=self.number, device=0, stream=7, **more)
        self.busy_to = start + lasted

    def frame(self, name: str, start: float, lasted: float) -> None:
        self._frame += 1
        self.event(
            "python_function", name, start, lasted, **{"Python id": self._frame, "Python parent id": None}
        )

    def pause(self, lasted: float, *calls: tuple[str, str]) -> None:
        """The host does something else for a time; the calls, by category and name, cover it."""
        for category, name in calls:
            if category == "python_function":
                self.frame(name, self.now, lasted)
            else:
                self.event(category, name, self.now, lasted)
        self.now += lasted

    def wait(self, call: str = "StreamSynchronize") -> None:
        """The host waits until the device has done everything."""
        lasted = max(3.0, self.busy_to - self.now)
        self.event("cuda_runtime", self.world.runtime + call, self.now, lasted, correlation=0)
        self.now += lasted

    def copy(self, direction: str, lasted: float, call_us: float) -> None:
        """A copy that the host waits for, such as one from pageable memory."""
        self.number += 1
        self.event(
            "cuda_runtime", f"{self.world.runtime}MemcpyAsync", self.now, call_us, correlation=self.number
        )
        start = max(self.now + call_us - lasted, self.busy_to + 0.5)
        self.event(
            "gpu_memcpy", f"Memcpy {direction}", start, lasted, correlation=self.number, device=0, stream=7
        )
        self.busy_to = start + lasted
        self.now += call_us

    def forward(self) -> None:
        for place in range(self.world.layers):
            self.layer = place
            self.block()
            self.at("layer")

    def block(self) -> None:
        for name, spent in self.world.layer:
            parts = BATCH_NORM if name == NORM and self.world.batch_norm else (name,)
            for part in parts:
                self.launch(part, spent / len(parts))

    def backward(self) -> None:
        for _ in range(self.world.layers):
            self.at("back")
            for name, spent in reversed(self.world.layer):
                if name == NORM and self.world.batch_norm:
                    self.launch(BATCH_NORM_BACK, 1.6 * spent)
                    continue
                for back, factor in _BACK.get(
                    name, ((name, 1.0), (name, 1.0)) if "gemm" in name else ((name, 1.0),)
                ):
                    self.launch(back, factor * spent)
            if self.world.reduces:
                self.launch(REDUCE, 120.0)

    def at(self, place: str) -> None:
        for hook in self.world.hooks:
            hook(self, self.step, place)

    def all(self) -> dict[str, Any]:
        """The whole capture as a trace."""
        for step in range(self.world.steps):
            self.step, began = step, self.now
            self.at("begin")
            self.pause(
                20.0, ("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
            )
            self.at("forward")
            self.forward()
            self.launch(LOSS, 10.0)
            if self.world.is_training:
                self.at("backward")
                self.backward()
                for _ in range(3):
                    self.launch(ADAM, 90.0)
            self.wait()
            self.at("end")
            if self.world.marked:
                self.event("user_annotation", f"ProfilerStep#{self.step}", began, self.now - began)
        return {
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": self.world.device}],
            "traceEvents": sorted(self.events, key=lambda event: event["ts"]),
        }


WORLDS = {
    "trains on A100": World(),
    "trains wide, unmarked": World(device="NVIDIA H100 80GB HBM3", layers=6, size=2.2, marked=False, reduces=False),
    "serves on MI300X": World(device="AMD Instinct MI300X", layers=12, size=0.7, is_training=False, reduces=False,
                              runtime="hip"),
    "convolves": World(device="AMD Instinct MI210", layers=10, size=0.8, batch_norm=True, reduces=False, runtime="hip",
                       layer=((NORM, 40.0), (GEMM, 260.0), (ADD, 30.0), (GEMM, 200.0), (NORM, 40.0))),
}  # fmt: skip


def length_us(world: World, random: np.random.Generator) -> float:
    """The length of a capture."""
    run = Run(world, random)
    run.all()
    return run.busy_to - 1000.0


def write(world: World, random: np.random.Generator, path: Path) -> Path:
    """A capture as a file."""
    path.write_text(json.dumps(Run(world, random).all()))
    return path


def with_hook(world: World, *hooks: Hook, **more: Any) -> World:
    return replace(world, hooks=(*world.hooks, *hooks), **more)


def attention_written_out(layer: Sequence[Kernel], factor: float) -> tuple[Kernel, ...]:
    """A block whose attention is product, scale, softmax, product."""
    made: list[Kernel] = []
    for name, spent in layer:
        if name != ATTENTION:
            made.append((name, spent))
            continue
        made += [
            (GEMM, 0.6 * spent),
            (SCALE, 0.25 * spent * factor),
            (SOFTMAX, 0.5 * spent * factor),
            (GEMM, 0.6 * spent),
        ]
    return tuple(made)
