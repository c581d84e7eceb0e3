"""Mechanisms in traces of GPUs: hooks on a simulated capture, each with the ids that name it.

Written before any analyser was changed for them, from what people report of their own runs; no threshold of an
analyser is looked at. ``cost`` is the time to lose in a step.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.profiles import traced_runs as runs
from benchmarks.profiles.traced_runs import Hook, Run, World, with_hook

Change = Callable[[World, float, np.random.Generator], World | None]
REDUCE_SMALL = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
UNPACK = "void kDequantizeBlockwise<__nv_bfloat16, 512, 64, 8, 2>(float*, unsigned char*)"
SAVE = "torch/serialization.py(943): save"
ODD = "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>(Params)"
NEXT = "torch/utils/data/dataloader.py(733): __next__"


def hook_at(place: str, act: Callable[[Run, int], None]) -> Hook:
    return lambda run, step, where: act(run, step) if where == place else None


def before_the_capture(world: World, cost: float, random: np.random.Generator) -> World:
    """The host copies a few bytes while the device still works at what was launched before the capture."""

    def act(run: Run, step: int) -> None:
        if step == 0:
            run.launch(runs.ADD, 20.0)
            run.event("cpu_op", "aten::item", run.now, 40.0)
            run.now += 45.0
            run.event("cpu_op", "aten::to", run.now, cost * world.steps + 8)
            run.copy("HtoD (Pageable -> Device)", 2.0, cost * world.steps)

    return with_hook(world, hook_at("begin", act))


def values_read(world: World, cost: float, random: np.random.Generator) -> World:
    """The value of a tensor is read after each layer."""

    def act(run: Run, step: int) -> None:
        began = run.now
        run.copy("DtoH (Device -> Pageable)", 2.0, 6.0 + max(0.0, run.busy_to - run.now))
        run.wait()
        run.event("cpu_op", "aten::item", began, run.now - began)
        run.event("cpu_op", "aten::_local_scalar_dense", began + 1, run.now - began - 2)
        run.pause(cost / world.layers)  # what the host does before its next launch

    return with_hook(world, hook_at("layer", act))


def waits_by_hand(world: World, cost: float, random: np.random.Generator) -> World:
    """A timer synchronises the device around each layer, and its call takes long to return."""

    def act(run: Run, step: int) -> None:
        run.event(
            "cuda_runtime",
            f"{world.runtime}DeviceSynchronize",
            run.now,
            max(0.0, run.busy_to - run.now) + cost / world.layers,
        )
        run.now = max(run.now, run.busy_to) + cost / world.layers

    return with_hook(world, hook_at("layer", act))


def starved(world: World, cost: float, random: np.random.Generator) -> World:
    """Workers are too slow: the loader's own range says so."""
    mark = ("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
    return with_hook(world, hook_at("begin", lambda run, step: run.pause(cost, mark)))


def starved_unseen(world: World, cost: float, random: np.random.Generator) -> World:
    """A pipeline of one's own, with no range: the step begins when the batch is there."""
    return with_hook(world, hook_at("begin", lambda run, step: run.pause(cost)))


def starved_growing(world: World, cost: float, random: np.random.Generator) -> World:
    """The wait for data grows from step to step."""
    return with_hook(
        world,
        hook_at(
            "begin",
            lambda run, step: run.pause(2 * cost * (step + 1) / (world.steps + 1), ("python_function", NEXT)),
        ),
    )


def collected(world: World, cost: float, random: np.random.Generator) -> World:
    """Python's collector runs in some steps."""
    odd = int(random.integers(2))

    def act(run: Run, step: int) -> None:
        if step % 2 == odd:
            run.wait()
            run.pause(
                cost * world.steps / len(range(odd, world.steps, 2)),
                ("python_function", "<built-in function collect>"),
            )

    return with_hook(world, hook_at("backward" if world.is_training else "forward", act))


def saved(world: World, cost: float, random: np.random.Generator) -> World:
    """A checkpoint is written behind each second step."""

    def act(run: Run, step: int) -> None:
        if step % 2 == 0 and step + 1 < world.steps:
            run.pause(cost * world.steps / (world.steps // 2), ("python_function", SAVE))

    return with_hook(world, hook_at("end", act)) if world.is_training else world


def reserved(world: World, cost: float, random: np.random.Generator) -> World:
    """The cache is emptied: each layer takes its memory from the driver."""

    def act(run: Run, step: int) -> None:
        run.wait("Free")
        for _ in range(4):
            run.pause(cost / world.layers / 4, ("cuda_runtime", f"{world.runtime}Malloc"))

    return with_hook(world, hook_at("layer", act))


def first_step(world: World, cost: float, random: np.random.Generator) -> World:
    """The capture holds the first step: memory is taken from the driver for seconds."""

    def act(run: Run, step: int) -> None:
        if step == 0:
            for _ in range(20):
                run.pause(cost * world.steps / 20, ("cuda_runtime", f"{world.runtime}Malloc"))
                run.launch(runs.ADD, 5.0)

    return with_hook(world, hook_at("forward", act))


def compiled(world: World, cost: float, random: np.random.Generator) -> World:
    """Shapes differ: the compiler of the framework runs in each step."""
    mark = (
        "python_function",
        "torch/_dynamo/convert_frame.py(990): _compile",
    )
    return with_hook(world, hook_at("forward", lambda run, step: run.pause(cost, mark)))


def slow_host(world: World, cost: float, random: np.random.Generator) -> World | None:
    """The host's cores are shared: each launch takes so long that the device waits for each."""
    count = len(world.layer) * world.layers * (3 if world.is_training else 1)
    return replace(
        world, launch_us=sum(t for _, t in world.layer) * world.size / len(world.layer) * 1.1 + cost / count
    )


def small_kernels(world: World, cost: float, random: np.random.Generator) -> World:
    """An optimiser by tensor: hundreds of kernels shorter than their launches."""

    def act(run: Run, step: int) -> None:
        run.wait()
        slow = run.world
        run.world = replace(world, launch_us=14.0)
        for _ in range(max(20, round(cost / 12.0))):
            run.launch(runs.ADD, 1.8 / world.size)
        run.world = slow

    return with_hook(world, hook_at("backward" if world.is_training else "forward", act))


def standstill(world: World, cost: float, random: np.random.Generator) -> World:
    """The host stands still in the middle of a step, and nothing that was recorded says why."""
    met: list[int] = []

    def act(run: Run, step: int) -> None:
        if step == 0:
            met.clear()
        if step % 2 == 1 and step not in met:  # behind the first layer
            met.append(step)
            run.now = max(run.now, run.busy_to) + cost * world.steps / (world.steps // 2)

    return with_hook(world, hook_at("layer", act))


def recomputed(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Activations are dropped: each block's forward runs again before its backward."""

    def act(run: Run, step: int) -> None:
        for name, spent in world.layer:
            for part in runs.BATCH_NORM if name == runs.NORM and world.batch_norm else (name,):
                run.launch(part, spent / (2 if part != name else 1))

    return with_hook(world, hook_at("back", act)) if world.is_training else None


def teacher(world: World, cost: float, random: np.random.Generator) -> World:
    """A teacher's forward runs before the student's: more forward than backward work, nothing again."""
    return with_hook(world, hook_at("forward", lambda run, step: run.forward()))


def unfused_attention(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Attention is product, scale, softmax, product."""
    own = sum(spent for name, spent in world.layer if name == runs.ATTENTION) * world.layers * world.size
    if not own:
        return None
    return replace(world, layer=runs.attention_written_out(world.layer, 1 + cost / own))


def wide_products(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Autocast is off: products run in 32 bit."""
    layer = tuple(
        (runs.GEMM_32, 6 * spent) if name == runs.GEMM else (name, spent) for name, spent in world.layer
    )
    return replace(world, layer=layer) if "hip" not in world.runtime else None


def _marked(name: str) -> Change:
    """The program stands still in a range that its library names, in the middle of a step."""

    def change(world: World, cost: float, random: np.random.Generator) -> World | None:
        def act(run: Run, step: int) -> None:
            run.now = max(run.now, run.busy_to)
            run.pause(cost, ("user_annotation", name))

        return with_hook(world, hook_at("backward", act)) if world.is_training else None

    return change


def odd_sizes(world: World, cost: float, random: np.random.Generator) -> World | None:
    """A vocabulary or width of odd size: products take the kernels that load number by number."""
    own = sum(spent for name, spent in world.layer if name == runs.GEMM) * world.layers * world.size
    factor = 1 + cost / own / (3 if world.is_training else 1)
    layer = tuple(
        (ODD, factor * spent) if name == runs.GEMM else (name, spent) for name, spent in world.layer
    )
    return replace(world, layer=layer) if "hip" not in world.runtime else None


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


def function_of_the_host(world: World, cost: float, random: np.random.Generator) -> World | None:
    """The optimiser runs on the host: a function of the program has the gap."""
    mark = ("python_function", "deepspeed/ops/adam/cpu_adam.py(150): step")

    def act(run: Run, step: int) -> None:
        run.now = max(run.now, run.busy_to)
        run.pause(cost, mark)

    return with_hook(world, hook_at("begin", act)) if world.is_training else None


def sorted_vocabulary(world: World, cost: float, random: np.random.Generator) -> World | None:
    """A server sorts all that it could say next, to cut it off behind the likely ones."""
    sort = "void at_cuda_detail::cub::DeviceSegmentedRadixSortKernel<at_cuda_detail::cub::Policy900>(float*)"

    def act(run: Run, step: int) -> None:
        run.launch(runs.GEMM, 200.0)
        for _ in range(5):
            run.launch(sort, cost / 6 / world.size)
        run.launch(runs.SOFTMAX, cost / 6 / world.size)
        run.wait()

    return None if world.is_training else with_hook(world, hook_at("end", act))


def norms_of_all_ranks(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Each batch norm gathers the statistics of all ranks before it goes on."""

    def act(run: Run, step: int) -> None:
        run.launch(
            "void at::native::batch_norm_collect_statistics_channels_last_kernel<at::native::Var>", 20.0
        )
        run.launch(REDUCE_SMALL, cost / world.layers / world.size)
        run.launch("void at::native::batch_norm_transform_input_channels_last_kernel<c10::Half>", 20.0)

    return with_hook(world, hook_at("layer", act)) if world.reduces else None


def sparse_gradients(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Indices of a large table are sorted, and the gradients of its rows added up."""

    def act(run: Run, step: int) -> None:
        for _ in range(8):
            run.launch(
                "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<long>(int*)", cost / 24 / world.size
            )
            run.launch(
                "void at::native::(anonymous namespace)::compute_grad_weight<float>", cost / 24 / world.size
            )
            run.launch(
                "void at::native::(anonymous namespace)::sum_and_scatter<float>", cost / 24 / world.size
            )

    return with_hook(world, hook_at("backward", act)) if world.is_training else None


def low_clock(world: World, cost: float, random: np.random.Generator) -> World:
    """The clock is capped: every kernel that computes takes longer by one factor."""
    spent = sum(t for _, t in world.layer) * world.layers * world.size * (3 if world.is_training else 1)
    return replace(world, rate=lambda name: 1.0 if name == runs.REDUCE else 1 + cost / spent)


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

    def act(run: Run, step: int) -> None:
        if run.busy_to > run.now:
            run.busy_to += 2 * cost / run.world.layers * float(random.random())

    return with_hook(world, hook_at("layer", act))


def tokens_in_line(world: World, cost: float, random: np.random.Generator) -> World | None:
    """A server turns text into tokens on the thread that launches."""
    mark = ("python_function", "transformers/tokenization_utils_fast.py(523): _batch_encode_plus")
    return (
        None
        if world.is_training
        else with_hook(world, hook_at("begin", lambda run, _: run.pause(cost, mark)))
    )


def slow_memory(world: World, cost: float, random: np.random.Generator) -> World:
    """Memory is slower: kernels that only move data take longer by one factor."""
    kinds = ("elementwise", "norm", "multi_tensor", "nll_loss")
    moves = [spent for name, spent in world.layer if any(part in name for part in kinds)]
    factor = 1 + cost / (sum(moves) * world.layers * world.size * (2.5 if world.is_training else 1))
    return replace(world, rate=lambda name: factor if any(part in name for part in kinds) else 1.0)


def prompts_between(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Whole prompts are read between the tokens of others, by products of many rows."""

    def act(run: Run, step: int) -> None:
        for _ in range(10 * (step % 4 == 2)):
            run.launch(runs.GEMM.replace("128x128", "256x128"), 0.4 * cost / world.size)

    return None if world.is_training else with_hook(replace(world, steps=12), hook_at("forward", act))


def layers_reduced(world: World, cost: float, random: np.random.Generator) -> World | None:
    """A server adds up the parts of each layer's result, in a graph that tells no groups."""
    name = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    each = cost / world.layers / world.size
    return (
        None
        if world.is_training
        else with_hook(world, hook_at("layer", lambda run, _: run.launch(name, each)))
    )


def slower_attention(world: World, cost: float, random: np.random.Generator) -> World | None:
    """Attention falls back to a slower kernel of its kind."""
    own = sum(spent for name, spent in world.layer if name == runs.ATTENTION) * world.layers * world.size
    factor = 1 + cost / max(own, 1e-9) / (3.4 if world.is_training else 1)
    return replace(world, rate=lambda name: factor if "flash" in name else 1.0) if own else None


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
    TracedMechanism("checkpoints in a range", frozenset({"checkpoint-stall"}), _marked("save_checkpoint")),
    TracedMechanism("the compiler in a range", frozenset({"operator-compilation-latency", "dynamic-shape"}),
                    _marked("_compile.compile_inner (dynamo_timed)")),
    TracedMechanism("sizes are odd", frozenset({"inner-axis-misalignment", "unaligned-model-dimensions"}), odd_sizes),
    TracedMechanism("types do not match", frozenset({"cast-traffic", "redundant-casts"}), _beside(runs.CAST)),
    TracedMechanism("weights are unpacked", frozenset({"cast-traffic", "redundant-casts"}), _beside(UNPACK)),
    TracedMechanism("a function of the host", frozenset({"code-high-latency-function"}), function_of_the_host),
    TracedMechanism("the vocabulary is sorted", frozenset({"sampler-high-latency"}), sorted_vocabulary),
    TracedMechanism("norms of all ranks", frozenset({"sync-batchnorm", "sync-batchnorm-layers"}), norms_of_all_ranks),
    TracedMechanism("gradients are sparse", frozenset({"embedding-random-access", "sparse-lookup"}), sparse_gradients),
    TracedMechanism("views are made contiguous", frozenset({"memory-copies"}), _beside(runs.COPY)),
    TracedMechanism("the clock is capped", frozenset({"frequency-drop", "power-limit"}), low_clock, alone=False),
    TracedMechanism("the network is slower", frozenset({"data-parallel-communication", "exposed-communication", "slow-link"}),
                    slow_reduction, alone=False),
    TracedMechanism("launches wait", WAIT | {"launch-blocking-set"}, launches_wait),
    TracedMechanism("another program takes turns", frozenset({"shared-device"}), in_turns),
    TracedMechanism("tokens are made in line", frozenset({"model-pre-post-processing-latency"}), tokens_in_line),
    TracedMechanism("memory is slower", frozenset({"memory-bandwidth"}), slow_memory, alone=False),
    TracedMechanism("prompts between tokens", frozenset({"prefill-decode-interference"}), prompts_between),
    TracedMechanism("layers are reduced", frozenset({"tensor-parallel-communication"}), layers_reduced),
    TracedMechanism("attention is slower", frozenset({"attention-kernel"}), slower_attention, alone=False),
)  # fmt: skip
DECOYS = (("a teacher runs before", teacher, frozenset({"recompute-overhead", "full-recompute-setting"})),)
"""Runs that are as they should be, and what must not be said of them."""
