"""Mechanisms in traces of GPUs: what the world does at a place of each step, each with the ids that name it.

Written before any analyser was changed for them, from what people report of their own runs; no threshold of an
analyser is looked at. ``cost`` is the time to lose in a step.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.profiles import traced_runs as runs
from benchmarks.profiles.traced_runs import Run, World, with_hook

Change = Callable[[World, float, np.random.Generator], World | None]
Act = Callable[[Run, int, float], None]
"""Action in a step of a number, given the time to lose."""
REDUCE_SMALL = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
REDUCE_HALF = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
UNPACK = "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*)"
ODD = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>(Params)"
SORT = "void at_cuda_detail::cub::DeviceSegmentedRadixSortKernel<at_cuda_detail::cub::Policy900>(float*)"
SPARSE = (
    "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long>(int*)",
    "void at::native::(anonymous namespace)::compute_grad_weight<float>",
    "void at::native::(anonymous namespace)::sum_and_scatter<float>",
)
STATISTICS = "void at::native::batch_norm_collect_statistics_channels_last_kernel<at::native::Var>"
NORMALISED = "void at::native::batch_norm_transform_input_channels_last_kernel<c10::Half>"
SAVE = ("python_function", "torch/serialization.py(943): save")
NEXT = ("python_function", "torch/utils/data/dataloader.py(733): __next__")
COLLECT = ("python_function", "<built-in function collect>")


def hooked(place: str, *, phase: str = "") -> Callable[[Act], Change]:
    """Make a mechanism of an action at a place of each step; None in a job of another phase."""

    def make(act: Act) -> Change:
        def change(world: World, cost: float, random: np.random.Generator) -> World | None:
            if phase and (phase == "training") is not world.is_training:
                return None
            return with_hook(world, lambda run, step, at: act(run, step, cost) if at == place else None)

        return change

    return make


def paused(place: str, *mark: tuple[str, str], phase: str = "", runs_dry: bool = False) -> Change:
    """The host does something else in each step, which the calls cover; at once or when the device has run dry."""

    def act(run: Run, step: int, cost: float) -> None:
        run.now = max(run.now, run.busy_to) if runs_dry else run.now
        run.pause(cost, *mark)

    return hooked(place, phase=phase)(act)


def launched(place: str, *kernels: tuple[str, float, float], phase: str = "", waits: bool = False) -> Change:
    """Kernels more in each step: name, time of its own, and share of the time to lose."""

    def act(run: Run, step: int, cost: float) -> None:
        part = cost / (run.world.layers if place == "layer" else 1) / run.world.size
        for name, own, share in kernels:
            run.launch(name, own + share * part)
        if waits:
            run.wait()

    return hooked(place, phase=phase)(act)


def slower(is_slow: Callable[[str], bool], *, backward: float) -> Change:
    """Kernels of a kind take longer by one factor; a backward pass has so much more of them than the forward one."""

    def change(world: World, cost: float, random: np.random.Generator) -> World | None:
        own = sum(spent for name, spent in world.layer if is_slow(name)) * world.layers * world.size
        factor = 1 + cost / max(own, 1e-9) / (1 + backward * world.is_training)
        return replace(world, rate=lambda name: factor if is_slow(name) else 1.0) if own else None

    return change


@hooked("begin")
def before_the_capture(run: Run, step: int, cost: float) -> None:
    """The host copies a few bytes while the device still works at what was launched before the capture."""
    if step == 0:
        whole = cost * run.world.steps
        run.launch(runs.ADD, 20.0)
        run.event("cpu_op", "aten::item", run.now, 40.0)
        run.now += 45.0
        run.event("cpu_op", "aten::to", run.now, whole + 8)
        run.copy("HtoD (Pageable -> Device)", 2.0, whole)


@hooked("layer")
def values_read(run: Run, step: int, cost: float) -> None:
    """The value of a tensor is read after each layer."""
    began = run.now
    run.copy("DtoH (Device -> Pageable)", 2.0, 6.0 + max(0.0, run.busy_to - run.now))
    run.wait()
    run.event("cpu_op", "aten::item", began, run.now - began)
    run.event("cpu_op", "aten::_local_scalar_dense", began + 1, run.now - began - 2)
    run.pause(cost / run.world.layers)  # what the host does before its next launch


@hooked("layer")
def waits_by_hand(run: Run, step: int, cost: float) -> None:
    """A timer synchronises the device around each layer, and its call takes long to return."""
    each, call = cost / run.world.layers, f"{run.world.runtime}DeviceSynchronize"
    run.event("cuda_runtime", call, run.now, max(0.0, run.busy_to - run.now) + each)
    run.now = max(run.now, run.busy_to) + each


starved = paused(
    "begin", ("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
)
"""Workers are too slow: the loader's own range says so."""
starved_unseen = paused("begin")
"""A pipeline of one's own, with no range: the step begins when the batch is there."""


@hooked("begin")
def starved_growing(run: Run, step: int, cost: float) -> None:
    """The wait for data grows from step to step."""
    run.pause(2 * cost * (step + 1) / (run.world.steps + 1), NEXT)


def collected(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Python's collector runs in some steps."""
    odd = int(random.integers(2))

    def act(run: Run, step: int, cost: float) -> None:
        if step % 2 == odd:
            run.wait()
            run.pause(cost * world.steps / len(range(odd, world.steps, 2)), COLLECT)

    return hooked("backward" if world.is_training else "forward")(act)(world, cost, random)


@hooked("end", phase="training")
def saved(run: Run, step: int, cost: float) -> None:
    """A checkpoint is written behind each second step."""
    steps = run.world.steps
    if step % 2 == 0 and step + 1 < steps:
        run.pause(cost * steps / (steps // 2), SAVE)


@hooked("layer")
def reserved(run: Run, step: int, cost: float) -> None:
    """The cache is emptied: each layer takes its memory from the driver."""
    run.wait("Free")
    for _ in range(4):
        run.pause(cost / run.world.layers / 4, ("cuda_runtime", f"{run.world.runtime}Malloc"))


@hooked("forward")
def first_step(run: Run, step: int, cost: float) -> None:
    """The capture holds the first step: memory is taken from the driver for seconds."""
    for _ in range(20 * (step == 0)):
        run.pause(cost * run.world.steps / 20, ("cuda_runtime", f"{run.world.runtime}Malloc"))
        run.launch(runs.ADD, 5.0)


compiled = paused("forward", ("python_function", "torch/_dynamo/convert_frame.py(990): _compile"))
"""Shapes differ: the compiler of the framework runs in each step."""


def slow_launch_us(world: World, more: float) -> float:
    """The time of a launch for which the device waits, and so much longer."""
    return sum(t for _, t in world.layer) * world.size / len(world.layer) * 1.1 + more


def slow_host(world: World, cost: float, random: np.random.Generator) -> World:
    """The host's cores are shared: each launch takes so long that the device waits for each."""
    count = len(world.layer) * world.layers * (3 if world.is_training else 1)
    return replace(world, launch_us=slow_launch_us(world, cost / count))


def small_kernels(world: World, cost: float, random: np.random.Generator) -> World | None:
    """An optimiser by tensor: hundreds of kernels shorter than their launches."""

    def act(run: Run, step: int, cost: float) -> None:
        run.wait()
        before, run.world = run.world, replace(world, launch_us=14.0)
        for _ in range(max(20, round(cost / 12.0))):
            run.launch(runs.ADD, 1.8 / world.size)
        run.world = before

    return hooked("backward" if world.is_training else "forward")(act)(world, cost, random)


@hooked("layer")
def standstill(run: Run, step: int, cost: float) -> None:
    """The host stands still in the middle of a step, and nothing that was recorded says why."""
    if step % 2 == 1 and run.layer == 0:
        run.now = max(run.now, run.busy_to) + cost * run.world.steps / (run.world.steps // 2)


@hooked("back", phase="training")
def recomputed(run: Run, step: int, cost: float) -> None:
    """Activations are dropped: each block's forward runs again before its backward."""
    run.block()


@hooked("forward")
def teacher(run: Run, step: int, cost: float) -> None:
    """A teacher's forward runs before the student's: more forward than backward work, nothing again."""
    run.forward()


def unfused_attention(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Attention is product, scale, softmax, product."""
    own = sum(spent for name, spent in world.layer if name == runs.ATTENTION) * world.layers * world.size
    return replace(world, layer=runs.attention_written_out(world.layer, 1 + cost / own)) if own else None


def products_by(name: str, factor: Callable[[World, float], float]) -> Change:
    """Products take another kernel of NVIDIA's, and longer by a factor."""

    def change(world: World, cost: float, random: np.random.Generator) -> World | None:
        longer = factor(world, cost)
        layer = ((name, longer * us) if kernel == runs.GEMM else (kernel, us) for kernel, us in world.layer)
        return None if "hip" in world.runtime else replace(world, layer=tuple(layer))

    return change


def _as_costly(world: World, cost: float) -> float:
    own = sum(spent for name, spent in world.layer if name == runs.GEMM) * world.layers * world.size
    return 1 + cost / own / (3 if world.is_training else 1)


wide_products = products_by(runs.GEMM_32, lambda world, cost: 6.0)
"""Autocast is off: products run in 32 bit."""
odd_sizes = products_by(ODD, _as_costly)
"""A vocabulary or width of odd size: products take the kernels that load number by number."""


def _beside(name: str) -> Change:
    """Kernels that only move data stand beside each product."""

    def change(world: World, cost: float, random: np.random.Generator) -> World:
        products = sum(kernel == runs.GEMM for kernel, _ in world.layer) * world.layers
        products *= 3 if world.is_training else 1
        made: list[runs.Kernel] = []
        for kernel, spent in world.layer:
            made += [(name, cost / products / world.size)] * (kernel == runs.GEMM) + [(kernel, spent)]
        return replace(world, layer=tuple(made))

    return change


def norms_of_all_ranks(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Each batch norm gathers the statistics of all ranks before it goes on."""
    gather = launched("layer", (STATISTICS, 20.0, 0.0), (REDUCE_SMALL, 0.0, 1.0), (NORMALISED, 20.0, 0.0))
    return gather(world, cost, random) if world.reduces else None


low_clock = slower(lambda name: name != runs.REDUCE, backward=2.0)
"""The clock is capped: every kernel that computes takes longer by one factor."""


def slow_reduction(world: World, cost: float, random: np.random.Generator) -> World | None:
    """The network between servers is slower: reductions take longer, kernels do not."""
    factor = 1 + cost / (120.0 * world.layers * world.size)
    return replace(world, rate=lambda name: factor if name == runs.REDUCE else 1.0) if world.reduces else None


def launches_wait(world: World, cost: float, random: np.random.Generator) -> World:
    """Every launch returns when its kernel has ended, some time later."""
    count = len(world.layer) * world.layers * (2 if world.is_training else 1)
    return replace(world, blocking_us=cost / count)


def in_turns(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Another program has the device in turns: what was launched waits."""

    def act(run: Run, step: int, cost: float) -> None:
        if run.busy_to > run.now:
            run.busy_to += 2 * cost / run.world.layers * float(random.random())

    return hooked("layer")(act)(world, cost, random)


_MOVES = ("elementwise", "norm", "multi_tensor", "nll_loss")
slow_memory = slower(lambda name: any(part in name for part in _MOVES), backward=1.5)
"""Memory is slower: kernels that only move data take longer by one factor."""
slower_attention = slower(lambda name: "flash" in name, backward=2.4)
"""Attention falls back to a slower kernel of its kind."""


def prompts_between(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Whole prompts are read between the tokens of others, by products of many rows."""

    def act(run: Run, step: int, cost: float) -> None:
        for _ in range(10 * (step % 4 == 2)):
            run.launch(runs.GEMM.replace("128x128", "256x128"), 0.4 * cost / world.size)

    return hooked("forward", phase="serving")(act)(replace(world, steps=12), cost, random)


@dataclass(frozen=True)
class TracedMechanism:
    """One way in which a traced run loses time.

    Attributes:
        name: What the world does.
        nodes: Ids that name it.
        change: Puts it in; None where the job has nothing that it acts on.
        alone: It shows without an earlier run.
    """

    name: str
    nodes: frozenset[str]
    change: Change
    alone: bool = True


WAIT = frozenset({"host-device-synchronisation"})
TRACED = (
    TracedMechanism("work before the capture", WAIT | {"host-to-device-copy"}, before_the_capture),
    TracedMechanism("values are read", WAIT | {"item-calls", "device-to-host-copies"}, values_read),
    TracedMechanism("a timer synchronises", WAIT, waits_by_hand),
    TracedMechanism("workers are too slow", frozenset({"slow-dataloader"}), starved),
    TracedMechanism("a pipeline without ranges", frozenset({"slow-dataloader"}), starved_unseen),
    TracedMechanism("workers get slower", frozenset({"slow-dataloader"}), starved_growing),
    TracedMechanism("garbage is collected", frozenset({"python-gc-high-latency"}), collected),
    TracedMechanism("checkpoints are written", frozenset({"checkpoint-stall"}), saved),
    TracedMechanism("the cache is emptied", frozenset({"memory-allocation-stall"}), reserved),
    TracedMechanism("a first step", frozenset({"memory-allocation-stall"}), first_step),
    TracedMechanism("the compiler runs again", frozenset({"operator-compilation-latency", "dynamic-shape"}), compiled),
    TracedMechanism("launches take long", frozenset({"host-bound", "kernel-launch-overhead"}), slow_host),
    TracedMechanism("kernels shorter than launches", frozenset({"kernel-launch-overhead"}), small_kernels),
    TracedMechanism("the host stands still", frozenset({"host-bound"}), standstill),
    TracedMechanism("activations computed again", frozenset({"recompute-overhead", "full-recompute-setting"}), recomputed),
    TracedMechanism("attention is not fused", frozenset({"attention-memory-traffic"}), unfused_attention),
    TracedMechanism("autocast is off", frozenset({"precision-excess", "full-precision-setting"}), wide_products),
    TracedMechanism("checkpoints in a range", frozenset({"checkpoint-stall"}), paused("backward", ("user_annotation", "save_checkpoint"), phase="training", runs_dry=True)),
    TracedMechanism("the compiler in a range", frozenset({"operator-compilation-latency", "dynamic-shape"}),
                    paused("backward", ("user_annotation", "_compile.compile_inner (dynamo_timed)"), phase="training", runs_dry=True)),
    TracedMechanism("sizes are odd", frozenset({"inner-axis-misalignment", "unaligned-model-dimensions"}), odd_sizes),
    TracedMechanism("types do not match", frozenset({"cast-traffic", "redundant-casts"}), _beside(runs.CAST)),
    TracedMechanism("weights are unpacked", frozenset({"cast-traffic", "redundant-casts"}), _beside(UNPACK)),
    TracedMechanism("a function of the host", frozenset({"code-high-latency-function"}),
                    paused("begin", ("python_function", "deepspeed/ops/adam/cpu_adam.py(150): step"), phase="training", runs_dry=True)),
    TracedMechanism("the vocabulary is sorted", frozenset({"sampler-high-latency"}),
                    launched("end", (runs.GEMM, 200.0, 0.0), *((SORT, 0.0, 1 / 6),) * 5, (runs.SOFTMAX, 0.0, 1 / 6), phase="serving", waits=True)),
    TracedMechanism("norms of all ranks", frozenset({"sync-batchnorm", "sync-batchnorm-layers"}), norms_of_all_ranks),
    TracedMechanism("gradients are sparse", frozenset({"embedding-random-access", "sparse-lookup"}),
                    launched("backward", *((name, 0.0, 1 / 24) for name in SPARSE * 8), phase="training")),
    TracedMechanism("views are made contiguous", frozenset({"memory-copies"}), _beside(runs.COPY)),
    TracedMechanism("the clock is capped", frozenset({"frequency-drop", "power-limit"}), low_clock, alone=False),
    TracedMechanism("the network is slower", frozenset({"data-parallel-communication", "exposed-communication", "slow-link"}),
                    slow_reduction, alone=False),
    TracedMechanism("launches wait", WAIT | {"launch-blocking-set"}, launches_wait),
    TracedMechanism("another program takes turns", frozenset({"shared-device"}), in_turns),
    TracedMechanism("tokens are made in line", frozenset({"model-pre-post-processing-latency"}),
                    paused("begin", ("python_function", "transformers/tokenization_utils_fast.py(523): _batch_encode_plus"), phase="serving")),
    TracedMechanism("memory is slower", frozenset({"memory-bandwidth"}), slow_memory, alone=False),
    TracedMechanism("prompts between tokens", frozenset({"prefill-decode-interference"}), prompts_between),
    TracedMechanism("layers are reduced", frozenset({"tensor-parallel-communication"}), launched("layer", (REDUCE_HALF, 0.0, 1.0), phase="serving")),
    TracedMechanism("attention is slower", frozenset({"attention-kernel"}), slower_attention, alone=False),
)  # fmt: skip
DECOYS = (("a teacher runs before", teacher, frozenset({"recompute-overhead", "full-recompute-setting"})),)
"""Runs that are as they should be, and what must not be said of them."""
