"""Where each program keeps its settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from tools.oracle.settings.pages import Page

SYSTEM = frozenset(
    [
        "HOME",
        "PATH",
        "USER",
        "SHELL",
        "PWD",
        "TMPDIR",
        "HOSTNAME",
        "LANG",
        "TERM",
        "DISPLAY",
        "LD_LIBRARY_PATH",
        "PYTHONPATH",
        "CUDA_HOME",
        "CUDA_PATH",
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "NODE_RANK",
        "GROUP_RANK",
        "MASTER_ADDR",
        "MASTER_PORT",
        "CI",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "NO_PROXY",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "CC",
        "CXX",
    ]
)
"""Variables of the system, the shell and launchers, which are no settings of the program that reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where one program keeps its settings, in all its releases: a path that a release lacks is passed over.

    Attributes:
        software: Its name in the registry.
        source: Address of a file, with ``{ref}`` and ``{path}``.
        arguments: Files and folders that build its parser.
        annotated: Files whose annotated fields become flags.
        environment: Files and folders that read environment variables.
        native: Patterns of C++ files that read some.
        foreign: Beginnings of variables that belong to other programs.
        readers: Files and folders that read JSON objects key by key.
        roots: Names that hold such an object, with its path.
        wanted: Paths whose fields are wanted.
        config: Class whose fields tell which flag is which configuration class; empty if there is none.
        closed: Open objects whose keys another plan or reader knows.
        yaml: Groups of a configuration file, with the class that holds each.
        beneath: Programs that it runs on, whose settings it passes on.
        abbreviates: Its parser takes the beginning of a flag for the flag.
        library: Folders that only help to find classes and constants.
        checks: Files and folders that refuse combinations.
        pages: Pages that list settings in tables.
        named: Pages that each describe the variable they are named after.
    """

    software: str
    source: str
    arguments: tuple[str, ...] = ()
    annotated: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    native: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    roots: dict[str, str] = field(default_factory=dict)
    wanted: tuple[str, ...] = ()
    config: str = ""
    closed: frozenset[str] = frozenset()
    yaml: dict[str, str] = field(default_factory=dict)
    beneath: tuple[str, ...] = ()
    abbreviates: bool = False
    library: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    pages: tuple[Page, ...] = ()
    named: str = ""


_VLLM_ROOTS = {
    "additional_config": "additional_config",
    "kv_connector_extra_config": "kv_transfer_config.kv_connector_extra_config",
    "ec_connector_extra_config": "ec_transfer_config.ec_connector_extra_config",
    "model_loader_extra_config": "model_loader_extra_config",
}
_ASCEND = ("cann", "torch-npu", "host")
_GITHUB = "https://github.com/{}/blob/{{ref}}/{{path}}"

PLANS = {
    plan.software: plan
    for plan in (
        Plan(
            software="vllm-ascend",
            checks=(
                "vllm_ascend/ascend_config.py",
                "vllm_ascend/platform.py",
            ),
            source=_GITHUB.format("vllm-project/vllm-ascend"),
            environment=("vllm_ascend",),
            foreign=(
                "HCCL_",
                "VLLM_WORKER",
                "VLLM_USE_",
                "ASCEND_RT_",
                "ASCEND_LAUNCH",
                "PYTORCH_",
                "OMP_",
                "TORCH",
            ),
            readers=("vllm_ascend",),
            roots=_VLLM_ROOTS,
            wanted=tuple(_VLLM_ROOTS.values()),
            beneath=("vllm", "mooncake", *_ASCEND),
            abbreviates=True,
        ),
        Plan(
            software="vllm",
            checks=(
                "vllm/config",
                "vllm/engine/arg_utils.py",
            ),
            source=_GITHUB.format("vllm-project/vllm"),
            arguments=(
                "vllm/engine/arg_utils.py",
                "vllm/entrypoints/openai/cli_args.py",
                "vllm/entrypoints/common/cli_args.py",
                "vllm/entrypoints/cli/serve.py",
                "vllm/entrypoints/launchers/*.py",
            ),
            library=(
                "vllm/config",
                "vllm/engine",
                "vllm/entrypoints",
                "vllm/utils",
                "vllm/v1",
                "vllm/model_executor/layers/quantization",
                "vllm/reasoning",
                "vllm/tool_parsers",
            ),
            environment=("vllm/envs.py",),
            readers=(
                "vllm/model_executor/model_loader",
                "vllm/distributed/kv_transfer",
                "vllm/v1/kv_offload",
                "vllm/distributed/ec_transfer",
            ),
            roots=_VLLM_ROOTS,
            wanted=tuple(_VLLM_ROOTS.values()),
            config="VllmConfig",
            closed=frozenset(
                {
                    "--additional-config",
                    "--model-loader-extra-config",
                    "kv_transfer_config.kv_connector_extra_config",
                    "ec_transfer_config.ec_connector_extra_config",
                }
            ),
            beneath=("host",),
            abbreviates=True,
        ),
        Plan(
            software="sglang",
            checks=(
                "python/sglang/srt/server_args.py",
                "python/sglang/srt/arg_groups",
            ),
            source=_GITHUB.format("sgl-project/sglang"),
            arguments=("python/sglang/srt/server_args.py", "python/sglang/srt/arg_groups"),
            annotated=("python/sglang/srt/server_args.py", "python/sglang/srt/arg_groups"),
            library=("python/sglang/srt",),
            environment=("python/sglang/srt",),
            foreign=(
                "HCCL_",
                "ASCEND_RT_",
                "ASCEND_LAUNCH",
                "PYTORCH_",
                "OMP_",
                "TORCH",
                "NCCL_",
                "CUDA_",
                "TASK_QUEUE",
                "STREAMS_PER",
            ),
            beneath=("sgl-kernel-npu", "zbal", "mooncake", *_ASCEND),
            abbreviates=True,
        ),
        Plan(
            software="sgl-kernel-npu",
            source=_GITHUB.format("sgl-project/sgl-kernel-npu"),
            environment=("python", "contrib"),
            native=("csrc/**/*.cpp", "csrc/**/*.h", "csrc/**/*.hpp"),
            foreign=("HCCL_", "ASCEND_", "RANK"),
        ),
        Plan(
            software="megatron-lm",
            checks=("megatron/training/arguments.py",),
            source=_GITHUB.format("NVIDIA/Megatron-LM"),
            arguments=("megatron/training",),
            library=("megatron/core", "megatron/training"),
            environment=("megatron/core", "megatron/training"),
            foreign=("NCCL_", "SLURM", "TORCH"),
            beneath=("host",),
        ),
        Plan(
            software="mindspeed",
            checks=(
                "mindspeed/features_manager",
                "mindspeed/arguments.py",
            ),
            source=_GITHUB.format("Ascend/MindSpeed"),
            arguments=(
                "mindspeed/features_manager",
                "mindspeed/arguments.py",
                "mindspeed/core",
                "mindspeed/mindspore",
            ),
            library=("mindspeed",),
            environment=("mindspeed",),
            foreign=("HCCL_", "ASCEND_", "PYTORCH_", "CUDA_", "TORCH"),
            beneath=("megatron-lm", *_ASCEND),
        ),
        Plan(
            software="mindspeed-llm",
            checks=(
                "mindspeed_llm/features_manager",
                "mindspeed_llm/training",
            ),
            source=_GITHUB.format("Ascend/MindSpeed-LLM"),
            arguments=(
                "mindspeed_llm/features_manager",
                "mindspeed_llm/training",
                "mindspeed_llm/mindspore/training",
                "mindspeed_llm/core",
                "mindspeed_llm/arguments.py",
            ),
            library=("mindspeed_llm",),
            environment=("mindspeed_llm", "*.py"),
            foreign=(
                "HCCL_",
                "ASCEND_",
                "PYTORCH_",
                "CUDA_",
                "TORCH_",
                "UCC_",
                "UCX_",
                "SLURM",
                "MINDX_",
                "GROUP_",
                "NVTE_",
            ),
            yaml={
                "model": "ModelArguments",
                "data": "DataArguments",
                "parallel": "ParallelArguments",
                "training": "TrainingArguments",
                "optimization": "OptimizationArguments",
                "inference": "InferenceArguments",
            },
            beneath=("mindspeed", "mindspore", *_ASCEND),
        ),
        Plan(
            software="torch-npu",
            source=_GITHUB.format("Ascend/pytorch"),
            environment=("torch_npu",),
            native=("torch_npu/csrc/**/*.cpp", "torch_npu/csrc/**/*.h"),
            foreign=("HCCL_INTRA", "HCCL_ALGO", "RANK", "TORCHELASTIC", "ASCEND_RT"),
            named="docs/zh/api/environment_variable/*/*.md",
            beneath=("cann", "host"),
        ),
        Plan(
            software="triton-ascend",
            source=_GITHUB.format("triton-lang/triton-ascend"),
            environment=("python/triton", "third_party/ascend"),
            native=(
                "third_party/ascend/**/*.cpp",
                "lib/**/*.cpp",
                "bin/*.cpp",
                "python/src/*.cc",
                "include/**/*.hpp",
            ),
            foreign=("CUDA_", "ROCM_", "HIP_", "ASCEND_RT"),
            pages=(Page(pattern="docs/en/environment_variable_reference.md", place="env"),),
            beneath=("cann", "host"),
        ),
        Plan(
            software="mindie",
            source=_GITHUB.format("Ascend/MindIE-LLM"),
            pages=(
                Page(
                    pattern="docs/zh/user_guide/user_manual/service_parameter_configuration.md",
                    place="json",
                    carrier="config.json",
                    sections="src/server/conf/config.json",
                ),
                Page(
                    pattern="docs/zh/user_guide/user_manual/environment_variable.md",
                    place="env",
                    only="^(?!HCCL_|LD_|ASCEND_|MASTER_|PYTORCH_)",
                ),
            ),
            beneath=("cann", "torch-npu", "host"),
        ),
        Plan(
            software="mindspore",
            source=_GITHUB.format("mindspore-ai/docs"),
            pages=(
                Page(pattern="docs/mindspore/source_en/**/env_var_list.rst", place="env"),
                Page(pattern="docs/mindspore/source_en/note/env_var_list.rst", place="env"),
                Page(pattern="**/source_en/**/msrun_launcher.md", place="flag", only="^--"),
            ),
            beneath=("cann", "host"),
        ),
        Plan(
            software="mooncake",
            source=_GITHUB.format("kvcache-ai/Mooncake"),
            environment=("mooncake-wheel",),
            native=(
                "mooncake-transfer-engine/**/*.cpp",
                "mooncake-transfer-engine/**/*.h",
                "mooncake-store/**/*.cpp",
                "mooncake-store/**/*.h",
                "mooncake-common/**/*.cpp",
            ),
            foreign=("HCCL_INTRA", "RANK"),
            beneath=("host",),
        ),
    )
}
