"""Make ``data/corpora/public.yaml``: digests, sizes and rows of public corpora, from clones of repositories.

    python -m tools.catalogue_corpora CLONES [NAME...]

``CLONES`` holds a clone ``OWNER+NAME`` (or ``OWNER+NAME/repo``) of each repository; what its newest commit
has is catalogued. With names, only those corpora are read again and the other entries stay.
"""

import argparse
import hashlib
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml

import data
from ingest.corpora.corpus import SHIPPED
from ingest.corpora.fetching import matches
from ingest.reading import FileReport, read
from kg.triples.hardware_tree import HardwareTree
from kg.triples.names import Names
from recommender.workspace.workspace import Workspace

OUT = Path(data.__file__).parent / SHIPPED
HEADER = """\
# Public corpora that `tunegraph kb pull` fetches from where they are published (docs/ingesting.md).
# Made by tools/catalogue_corpora.py from clones at these commits; licences as the repositories state them.
"""
_BENCHMARK_HUB = "AutoTuningAssociation/benchmark_hub"
_AICONFIGURATOR = "aic-core/src/aiconfigurator_core/systems/data"
_VLLM_LAYERS = "vllm/model_executor/layers"
_SGLANG_MOE = "python/sglang/srt/layers/moe/moe_runner/triton_utils/configs"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusPlan:
    """A corpus to catalogue.

    Attributes:
        id: Its name.
        title: What it is.
        repository: Who publishes it, on GitHub.
        licence: As stated there.
        take: Paths, ``*`` standing for any name.
        archive: Fetched as one archive: many small files.
    """

    id: str
    title: str
    repository: str
    licence: str
    take: tuple[str, ...]
    archive: bool = False


CORPORA = (
    CorpusPlan(
        id="kernel-tuner-convolution",
        title="Kernel Tuner: 2D convolution on six GPUs, every configuration",
        repository=_BENCHMARK_HUB,
        licence="MIT",
        take=tuple(
            f"cachefiles/convolution_milo/{name}.json.gz" for name in ("A[14]*0", "A6000", "MI250X", "W*0")
        ),
    ),
    CorpusPlan(
        id="kernel-tuner-dedispersion",
        title="Kernel Tuner: dedispersion on six GPUs, every configuration",
        repository=_BENCHMARK_HUB,
        licence="MIT",
        take=tuple(f"cachefiles/dedispersion_milo/{name}.json.gz" for name in ("A[146]*0", "MI250X", "W*0")),
    ),
    CorpusPlan(
        id="kernel-tuner-geforce",
        title="Kernel Tuner: GEMM, convolution and pnpoly on four GeForce cards",
        repository=_BENCHMARK_HUB,
        licence="MIT",
        take=tuple(
            f"currently_unused/cachefiles/KernelTuner data/{kernel}/*.json.gz"
            for kernel in ("convolution", "gemm", "pnpoly")
        ),
    ),
    CorpusPlan(
        id="kernel-tuner-gemm-energy",
        title="Kernel Tuner: GEMM on an A100, time and energy",
        repository="KernelTuner/dashboard",
        licence="Apache-2.0",
        take=("tests/test_cache_1000.json",),
    ),
    *(
        CorpusPlan(
            id=f"aiconfigurator-{system.partition('_')[0]}",
            title=f"aiconfigurator: {what} under vLLM",
            repository="ai-dynamo/aiconfigurator",
            licence="Apache-2.0",
            take=tuple(f"{_AICONFIGURATOR}/{system}/{table}_perf.parquet" for table in tables),
        )
        for system, what, tables in (
            ("a100_sxm", "MoE layers and GEMM on an A100", ("moe/vllm/0.14.0/moe", "gemm/vllm/0.14.0/gemm")),
            ("h100_sxm", "MoE layers on an H100", ("moe/vllm/0.24.0/moe",)),
            ("b60", "MoE layers on an Arc Pro B60", ("moe/vllm/0.20.0/moe",)),
        )
    ),
    CorpusPlan(
        id="aiter",
        title="AMD aiter: tuned GEMM and MoE kernels on Instinct",
        repository="ROCm/aiter",
        licence="MIT",
        take=("aiter/configs/*.csv", "aiter/configs/*/*.csv"),
    ),
    CorpusPlan(
        id="vllm-kernels",
        title="vLLM: tuned Triton kernels (MoE, FP8 GEMM, mamba), winners",
        repository="neuralmagic/vllm",
        licence="Apache-2.0",
        take=(
            f"{_VLLM_LAYERS}/fused_moe/configs/*.json",
            f"{_VLLM_LAYERS}/quantization/utils/configs/*.json",
            f"{_VLLM_LAYERS}/mamba/ops/configs/selective_state_update/*.json",
        ),
        archive=True,
    ),
    CorpusPlan(
        id="sglang-kernels",
        title="SGLang: tuned Triton kernels (MoE, FP8 GEMM), winners",
        repository="Ascend/sglang",
        licence="Apache-2.0",
        take=(f"{_SGLANG_MOE}/*/*.json", "python/sglang/srt/layers/quantization/configs/*.json"),
        archive=True,
    ),
    CorpusPlan(
        id="lightllm-kernels",
        title="LightLLM: autotuned kernels on Hopper and Ada, winners",
        repository="ModelTC/lightllm",
        licence="Apache-2.0",
        take=("lightllm/common/all_kernel_configs/*/*.json",),
        archive=True,
    ),
    CorpusPlan(
        id="tvm-tophub",
        title="TVM TopHub: tuned operators on GPUs and CPUs, winners",
        repository="tlc-pack/tophub",
        licence="Apache-2.0",
        take=("tophub/*.log",),
    ),
    CorpusPlan(
        id="argonne-llm-inference",
        title="Argonne LLM-Inference-Bench: serving on seven accelerators",
        repository="argonne-lcf/LLM-Inference-Bench",
        licence="BSD-3-Clause",
        take=("Plots/*.csv", "Plots/*/*.csv"),
    ),
    CorpusPlan(
        id="flagperf",
        title="FlagPerf: operators and training on eight vendors' chips",
        repository="FlagOpen/FlagPerf",
        licence="Apache-2.0",
        take=("operation/benchmarks/*/*/*/*README.md", "training/*/*/README.md"),
    ),
    CorpusPlan(
        id="llm-foundry",
        title="MosaicML llm-foundry: training throughput on A100 and H100",
        repository="mosaicml/llm-foundry",
        licence="Apache-2.0",
        take=("scripts/train/benchmarking/README.md",),
    ),
    CorpusPlan(
        id="megatron-bridge",
        title="NVIDIA Megatron-Bridge: training performance by layout",
        repository="NVIDIA-NeMo/Megatron-Bridge",
        licence="Apache-2.0",
        take=("docs/performance-summary.md", "docs/performance-summary-archive.md"),
    ),
    CorpusPlan(
        id="gptune",
        title="GPTune: histories of tuned scientific codes",
        repository="gptune/GPTune",
        licence="BSD-3-Clause-LBNL",
        take=("examples/*/gptune.db/*.json", "examples/*/gptune.db/*.json.temp"),
    ),
)


def main() -> None:
    """Read the clones and write the catalogue."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clones", type=Path)
    parser.add_argument("names", nargs="*", help="corpora to read again; all if none is named")
    arguments = parser.parse_args()
    kept = {item["id"]: item for item in yaml.safe_load(OUT.read_text())["corpora"]} if OUT.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        Workspace.create(place / "workspace", cache=place / "cache", text_model=None)
        with Workspace.open(place / "workspace", cache=place / "cache") as workspace:
            for item in CORPORA:
                if not arguments.names or item.id in arguments.names:
                    kept[item.id] = entry(item, arguments.clones, place / item.id, workspace)
                    print(item.id, kept[item.id]["rows"], kept[item.id]["bytes"], flush=True)
                    write([kept[one.id] for one in CORPORA if one.id in kept])


def write(entries: list[dict[str, object]]) -> None:
    """Write the catalogue."""
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(HEADER + yaml.safe_dump({"corpora": entries}, sort_keys=False, width=1000))


def entry(item: CorpusPlan, clones: Path, folder: Path, workspace: Workspace) -> dict[str, object]:
    """The entry of a corpus: what reads it, how many rows it gives, its size and its digests."""
    clone = clones / item.repository.replace("/", "+")
    clone = clone / "repo" if (clone / "repo").is_dir() else clone
    commit = git(clone, "rev-parse", "HEAD").decode().strip()
    paths = sorted(chosen(item, clone))
    digests = {}
    size = 0
    for path in paths:
        content = git(clone, "cat-file", "blob", f"HEAD:{path}")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        digests[path] = hashlib.sha256(content).hexdigest()
        size += len(content)
    names = Names(workspace.graph, HardwareTree(workspace.graph))
    formats = Counter[str]()
    useless = []
    for report in read([folder], names, facts=workspace.hardware.facts):
        if isinstance(report, FileReport):
            path = report.path.relative_to(folder).as_posix()
            if report.good:
                formats[report.format] += report.good
            else:
                useless.append(path)
    if not item.archive:  # what gives no row need not be fetched
        for path in useless:
            size -= (folder / path).stat().st_size
            del digests[path]
    found: dict[str, object] = {
        "id": item.id,
        "title": item.title,
        "source": f"https://github.com/{item.repository}",
        "commit": commit,
        "licence": item.licence,
        "reader": ", ".join(sorted(formats)),
        "rows": formats.total(),
        "bytes": size,
    }
    if not item.archive:
        raw = f"https://raw.githubusercontent.com/{item.repository}/{commit}/"
        return {**found, "address": raw, "files": digests}
    listed = "".join(f"{digest}  {path}\n" for path, digest in digests.items())
    return {
        **found,
        "address": f"https://codeload.github.com/{item.repository}/tar.gz/{commit}",
        "take": list(item.take),
        "digest": hashlib.sha256(listed.encode()).hexdigest(),
    }


def chosen(item: CorpusPlan, clone: Path) -> list[str]:
    """The paths of a corpus."""
    tree = git(clone, "ls-tree", "-r", "-z", "--name-only", "HEAD").decode().split("\0")
    return [path for path in tree if any(matches(path, pattern) for pattern in item.take)]


def git(clone: Path, *arguments: str) -> bytes:
    """What git prints."""
    return subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, check=True).stdout


if __name__ == "__main__":
    main()
