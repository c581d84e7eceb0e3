"""Every cause that a trace of a GPU can name has a remedy for its vendor, and none that the trace contradicts."""

from dataclasses import replace

import pytest

from ingest.profiles.checks import KINETO
from ingest.profiles.facts.kernel_names import gpu_kernel
from ingest.profiles.facts.kernels import KernelBuilder
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Profile, Rank
from kg.nouns.framework import Framework
from kg.nouns.knowledge import Bottleneck, HardwareProfile, Strategy
from recommender.answers.remedies import ProfiledRun, Remedy, hardware_names, remedies_for
from recommender.diagnosis.causes.findings import LikelyCause
from recommender.diagnosis.diagnosis import Finding
from recommender.store.shipped_knowledge import knowledge

NOUNS = list(knowledge())
STRATEGIES = [noun for noun in NOUNS if isinstance(noun, Strategy)]
BROADER = {noun.id: noun.broader for noun in NOUNS if isinstance(noun, Bottleneck) and noun.broader}
ABOVE = {noun.id: noun.broader for noun in NOUNS if isinstance(noun, HardwareProfile)}
SHOWN_BY_GPUS = (
    *("host-bound", "kernel-launch-overhead", "host-to-device-copy", "host-device-synchronisation"),
    *("python-gc-high-latency", "slow-dataloader", "memory-allocation-stall", "memory-fragmentation"),
    *("operator-compilation-latency", "exposed-communication", "data-parallel-communication", "collective-wait"),
    *("checkpoint-stall", "tensor-parallel-communication", "context-parallel-communication", "stage-reduction"),
    *("all-to-all-communication", "ep-load-imbalance", "slow-rank", "bandwidth-contention", "precision-excess"),
    *("layout-transform", "cast-traffic", "memory-copies", "unfused-operators", "optimizer-traffic"),
    *("normalisation-traffic", "attention-memory-traffic", "activation-function-traffic"),
    *("rotary-embedding-traffic", "recompute-overhead"),
)  # fmt: skip


def path_of(name: str) -> tuple[str, ...]:
    found = [name]
    while above := ABOVE.get(found[-1]):
        found.append(above)
    return tuple(found)


def run_of(vendor: str, *calls: tuple[str, str], device: str = "", **environment: str) -> ProfiledRun:
    launch = {"nvidia": "cudaLaunchKernel", "amd": "hipLaunchKernel"}[vendor]
    made = tuple(
        Call(level=level, name=name, total_us=1.0, count=1, max_us=1.0, place=FactPlace("t"))
        for level, name in (("runtime", launch), *calls)
    )
    rank = Rank(
        rank=0, folder="", layout=KINETO, calls=made, environment=environment,
        parallel={"world_size": 8, "backend": "nccl"},
    )  # fmt: skip
    profile = Profile(path="run", ranks=(rank,))
    names = hardware_names(profile, device, STRATEGIES, path_of)
    frameworks = [noun for noun in NOUNS if isinstance(noun, Framework)]
    return ProfiledRun.of(profile, names, frameworks, broader=BROADER, is_training=True)


def advice(run: ProfiledRun, node: str, *effects: str) -> list[Remedy]:
    cause = LikelyCause(
        node=node, chain=(*effects, node), chance=0.9, left=1.0, lost_us=100.0, share=0.3, perhaps=(), evidence=()
    )  # fmt: skip
    finding = Finding(cause=cause)
    return list(remedies_for(finding, STRATEGIES, (), run))


@pytest.mark.parametrize("vendor", ["nvidia", "amd"])
@pytest.mark.parametrize("node", SHOWN_BY_GPUS)
def test_each_cause_has_a_remedy_of_the_vendor(node: str, vendor: str) -> None:
    assert node in BROADER
    found = advice(run_of(vendor, ("mark", "DistributedDataParallel.forward")), node)
    assert [item for item in found if not item.condition], [item.strategy.id for item in found]
    for item in found:
        assert not item.strategy.hardware or vendor in {path_of(name)[-1] for name in item.strategy.hardware}
        assert item.strategy.sources[0].url
        assert item.strategy.kind != "claimed"


def ids(run: ProfiledRun, node: str, *effects: str) -> set[str]:
    return {item.strategy.id for item in advice(run, node, *effects)}


def test_what_the_trace_shows_in_force_is_not_advised() -> None:
    compiled = run_of("nvidia", ("mark", "Torch-Compiled Region: 0/0"), ("runtime", "cudaGraphLaunch"))
    assert {"torch-compile", "torch-cuda-graphs"} <= ids(run_of("nvidia"), "kernel-launch-overhead")
    assert not {"torch-compile", "torch-cuda-graphs"} & ids(compiled, "kernel-launch-overhead")
    fused = run_of("amd", ("op", "aten::_fused_adamw_"))
    assert "fused-torch-optimizer" in ids(run_of("amd"), "optimizer-traffic")
    assert "fused-torch-optimizer" not in ids(fused, "optimizer-traffic")
    segments = run_of("nvidia", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert "cuda-expandable-segments" in ids(run_of("nvidia"), "memory-allocation-stall")
    assert "cuda-expandable-segments" not in ids(segments, "memory-allocation-stall")


def test_wrappers_get_their_own_advice() -> None:
    ddp, fsdp = (
        run_of("amd", ("mark", "DistributedDataParallel.forward")),
        run_of("amd", ("op", "FSDP::all_gather")),
    )
    assert "ddp-bucket-views" in ids(ddp, "exposed-communication")
    assert "fsdp-backward-prefetch" not in ids(ddp, "exposed-communication")
    assert "fsdp-backward-prefetch" in ids(fsdp, "exposed-communication")
    assert "ddp-bucket-views" not in ids(fsdp, "exposed-communication")


def test_workers_are_advised_only_to_a_loader_without() -> None:
    alone = run_of("nvidia", ("loader", "_SingleProcessDataLoaderIter.__next__"))
    several = run_of("nvidia", ("loader", "_MultiProcessingDataLoaderIter.__next__"))
    assert "loader-workers" in ids(alone, "slow-dataloader")
    assert "loader-workers" not in ids(several, "slow-dataloader")


def test_types_follow_the_device() -> None:
    assert "tf32-products" in ids(run_of("nvidia", device="a100"), "precision-excess")
    volta = ids(run_of("nvidia", device="tesla-v100-sxm2-32gb"), "precision-excess")
    assert not {"tf32-products", "autocast-bf16"} & volta
    assert "autocast-fp16" in volta
    assert "tf32-products" not in ids(run_of("amd"), "precision-excess")


def test_a_habit_is_ended_by_what_ends_its_effect() -> None:
    assert "no-host-reads" in ids(run_of("nvidia"), "item-calls", "host-bound", "host-device-synchronisation")
    blocked = run_of("nvidia", CUDA_LAUNCH_BLOCKING="1")
    assert "no-launch-blocking" in ids(blocked, "launch-blocking-set", "host-device-synchronisation")
    assert "no-launch-blocking" not in ids(
        run_of("nvidia"), "launch-blocking-set", "host-device-synchronisation"
    )


def test_of_two_settings_the_one_in_force_is_not_repeated() -> None:
    pinned = run_of("nvidia")
    pinned = replace(pinned, current={**pinned.current, "pin_memory": True})
    [remedy] = [r for r in advice(pinned, "host-to-device-copy") if r.strategy.id == "pinned-memory"]
    assert remedy.settings == ["non_blocking=true"]
    [remedy] = [
        r for r in advice(run_of("nvidia"), "host-to-device-copy") if r.strategy.id == "pinned-memory"
    ]
    assert remedy.settings == ["pin_memory=true", "non_blocking=true"]


@pytest.mark.parametrize(
    "level_and_name",
    [
        ("mark", "FullyShardedDataParallel.forward"),
        ("frame", "torch/distributed/fsdp/fully_sharded_data_parallel.py: forward"),
    ],
)
def test_gathers_of_fsdp_are_begun_earlier(level_and_name: tuple[str, str]) -> None:
    found = advice(run_of("nvidia", level_and_name), "fsdp-communication")
    assert {"fsdp-backward-prefetch", "fsdp-forward-prefetch"} <= {item.strategy.id for item in found}


def test_a_stack_tells_what_is_switched_on() -> None:
    def with_products(share: float) -> ProfiledRun:
        builder = KernelBuilder("trace.json")
        for row, (name, part) in enumerate(
            [("ampere_bf16_s16816gemm_bf16_128x128", share), ("ampere_sgemm_128x64_tn", 1 - share)]
        ):
            kind, types = gpu_kernel(name)
            builder.add(row, row * 10_000, duration_us=100 * part, name=name, kind=kind, core="GPU",
                        input_types=f"{types};{types}")  # fmt: skip
        place = FactPlace("t")
        calls = tuple(
            Call(level="frame", name=name, total_us=1.0, count=1, max_us=1.0, place=place)
            for name in ("torch/amp/autocast_mode.py: __enter__", "torch/optim/adam.py: _fused_adam")
        )
        rank = Rank(rank=0, folder="", layout=KINETO, calls=calls, kernels=builder.build())
        return ProfiledRun.of(
            Profile(path="run", ranks=(rank,)), frozenset({"nvidia"}), [], broader=BROADER, is_training=True
        )

    mixed, single = with_products(0.4), with_products(0.0)
    assert mixed.current["torch.autocast"] == "bfloat16"
    assert "torch.autocast" not in single.current  # entered, and switched off
    assert mixed.current["fused"] is True
