"""Settings that show in the names of a program's calls and kernels."""

from collections.abc import Sequence

from ingest.profiles.checks import KINETO
from ingest.profiles.facts.kernel_names import gpu_kernel
from ingest.profiles.facts.kernels import COPY_CORE, KernelBuilder
from ingest.profiles.facts.place import FactPlace
from ingest.profiles.facts.run import Call, Profile, Rank
from recommender.diagnosis.rank.program_signs import signs_of


def rank_of(*calls: tuple[str, str], kernels: Sequence[str] = (), copies: Sequence[str] = ()) -> Rank:
    builder = KernelBuilder("trace.json")
    for row, name in enumerate(kernels):
        kind, types = gpu_kernel(name)
        builder.add(row, row * 10_000, duration_us=5.0, name=name, kind=kind, core="GPU", input_types=types)
    for row, name in enumerate(copies):
        builder.add(row, row * 10_000, duration_us=1.0, name=name, core=COPY_CORE)
    made = tuple(
        Call(level=level, name=name, total_us=1.0, count=1, max_us=1.0, place=FactPlace("t")) for level, name in calls
    )  # fmt: skip
    return Rank(rank=0, folder="", layout=KINETO, kernels=builder.build(), calls=made)


def signs(
    *calls: tuple[str, str], kernels: Sequence[str] = (), copies: Sequence[str] = ()
) -> dict[str, object]:
    return dict(signs_of(Profile(path="", ranks=(rank_of(*calls, kernels=kernels, copies=copies),))))


def test_nothing_is_claimed_of_a_bare_trace() -> None:
    assert signs(("runtime", "cudaLaunchKernel"), kernels=["volta_sgemm_128x64_nt"]) == {}


def test_graphs_and_compiled_kernels() -> None:
    assert signs(("runtime", "cudaGraphLaunch"))["mode"] == "reduce-overhead"
    assert signs(kernels=["triton_poi_fused_add_0"])["torch.compile"] is True
    assert signs(("mark", "Torch-Compiled Region: 0/0"))["torch.compile"] is True


def test_loaders_and_pinned_memory() -> None:
    one = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    assert signs(("loader", one))["num_workers"] == 0
    assert (
        signs(("loader", one.replace("Single", "Multi").replace("Process", "Processing")))["num_workers"] != 0
    )
    pinned, pageable = "Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pageable -> Device)"
    assert signs(copies=[pinned] * 9 + [pageable])["pin_memory"] is True
    assert signs(copies=[pinned] * 8 + [pageable] * 2)["pin_memory"] is False
    assert "pin_memory" not in signs(copies=["Memcpy DtoH (Device -> Pageable)"])


def test_wrappers_and_optimisers() -> None:
    found = signs(("mark", "DistributedDataParallel.forward"), ("op", "aten::_fused_adamw_"))
    assert found["ddp"] is True
    assert found["fused"] is True
    assert signs(("mark", "FullyShardedDataParallel.forward"))["fsdp"] is True


def test_types_and_layouts() -> None:
    tf32 = "cutlass_80_tensorop_s1688gemm_128x64_16x6_tn_align4"
    assert signs(kernels=[tf32, tf32, "ampere_sgemm_32x32_tn"])["float32_matmul_precision"] == "high"
    assert "float32_matmul_precision" not in signs(kernels=[tf32, *["ampere_sgemm_32x32_tn"] * 2])
    nhwc = "sm80_xmma_fprop_implicit_gemm_f16f16_f16f16_f32_nhwckrsc_nhwc"
    assert signs(kernels=[nhwc])["memory_format"] == "channels_last"
    assert "memory_format" not in signs(kernels=[nhwc, "cudnn::ops::nchwToNhwcKernel<float>(x)"])


def test_ranks_that_differ_claim_nothing() -> None:
    ranks = (rank_of(("runtime", "cudaGraphLaunch")), rank_of(("loader", "_SingleProcessDataLoaderIter")))
    found = signs_of(Profile(path="", ranks=ranks))
    assert found == {"cuda_graphs": True, "mode": "reduce-overhead", "num_workers": 0}
    workers = (
        rank_of(("loader", "_SingleProcessDataLoaderIter")),
        rank_of(("loader", "_MultiProcessingDataLoaderIter")),
    )
    assert signs_of(Profile(path="", ranks=workers)) == {}


def test_frames_of_a_recording_with_stacks() -> None:
    optim, data = "torch/optim/adam.py: ", "torch/utils/data/"
    found = signs(("frame", optim + "_multi_tensor_adam"), ("frame", data + "_utils/fetch.py: fetch"))
    assert (found["foreach"], found["fused"], found["num_workers"]) == (True, False, 0)
    found = signs(
        ("frame", optim + "_fused_adam"), ("frame", optim + "_multi_tensor_adam"),
        ("frame", data + "dataloader.py: _try_get_data"), ("frame", data + "_utils/pin_memory.py: _pin_memory_loop"),
        ("frame", "torch/_dynamo/eval_frame.py: compile_wrapper"),
        ("frame", "torch/nn/parallel/distributed.py: forward"),
        ("frame", "torch/distributed/fsdp/fully_sharded_data_parallel.py: forward"),
        ("frame", "torch/amp/autocast_mode.py: __enter__"),
    )  # fmt: skip
    assert found == {
        "fused": True, "num_workers": "1 or more", "pin_memory": True, "torch.compile": True, "ddp": True,
        "fsdp": True, "autocast": True,
    }  # fmt: skip
    assert signs(("frame", optim + "_single_tensor_adam"))["foreach"] is False
