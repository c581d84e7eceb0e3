"""The framework that a question is about: the one it names, or the usual one of its vendor and phase."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kg.errors import InputError, NoEvidenceError, UnknownEntityError
from kg.nouns.entities import Problem, WorkloadKind
from kg.nouns.framework import Framework
from kg.nouns.look_up import Standing
from kg.nouns.situation import StatedFact
from kg.nouns.values import Value
from kg.terms.dialects import spell, statement
from kg.terms.meanings import variant_of
from kg.terms.precisions import GGUF_BITS
from kg.terms.setting_registry import registry, softwares
from kg.terms.successors import successors
from kg.terms.tasks import serves, task_of
from recommender.applicability.scope import GENERATORS
from recommender.cost_model.assumed import assumed_release

_USUAL = {
    ("huawei", WorkloadKind.SERVING, True): "vllm-ascend",
    ("huawei", WorkloadKind.SERVING, False): "torch-npu",
    ("huawei", WorkloadKind.TRAINING, True): "mindspeed-llm",
    ("huawei", WorkloadKind.TRAINING, False): "torch-npu",
    ("nvidia", WorkloadKind.SERVING, True): "vllm",
    ("nvidia", WorkloadKind.SERVING, False): "torch",
    ("nvidia", WorkloadKind.TRAINING, True): "megatron-lm",
    ("nvidia", WorkloadKind.TRAINING, False): "torch",
    ("amd", WorkloadKind.SERVING, True): "vllm",
    ("amd", WorkloadKind.SERVING, False): "torch",
    ("amd", WorkloadKind.TRAINING, True): "megatron-lm",
    ("amd", WorkloadKind.TRAINING, False): "torch",
    ("intel", WorkloadKind.SERVING, True): "vllm",
    ("intel", WorkloadKind.SERVING, False): "torch",
    ("intel", WorkloadKind.TRAINING, False): "torch",
    ("intel-gaudi", WorkloadKind.SERVING, True): "vllm-gaudi",
    ("google", WorkloadKind.SERVING, True): "vllm",
    ("google", WorkloadKind.TRAINING, True): "maxtext",
}
"""By vendor, kind of work, and whether a language model runs or an encoder that its servers serve: the one
with most recipes in data/recipes for Ascend; for GPUs the one that most rows of the public serving and
training benchmarks name. A choice, and said."""

MAKERS = {"intel-gaudi": "intel"}
"""Kinds of chips with an engine of their own, by their maker."""

LIBRARY = "torch"
"""The library below most frameworks: it is the framework only where none that runs on it is usual."""

_OF_DIFFUSION = {"huawei": "mindspeed-mm"}
"""Trainers of diffusion models by vendor, where that is a program of its own."""
_OF_ADAPTERS = "llama-factory"
"""Trainer of adapters where the usual program has no setting for them: of the programs whose default they
are, the one with most official recipes. A choice, and said."""
_OF_REWARDS = "verl"
"""Trainer on rewards of sampled answers: of such programs the one with most official recipes, on
GPUs and on Ascend. A choice, and said."""
POOLED = frozenset({"embedding", "reranking"})
"""Tasks of encoders that language model servers serve too (vLLM, vLLM Ascend: supported models, pooling)."""
OF_LANGUAGE = frozenset(
    {
        "vllm", "vllm-ascend", "vllm-gaudi", "sglang", "tensorrt-llm", "lmdeploy", "tgi", "tei", "llama.cpp",
        "ollama", "ktransformers", "lightllm", "mindspeed-llm", "mindspeed-rl", "llama-factory", "verl",
        "openrlhf", "torchtune",
    }
)  # fmt: skip
"""Programs whose lists of supported models are of language models, some with images or sound."""
_ALSO_DENOISE = frozenset({"sglang", "tensorrt-llm"})
"""Those whose lists have models that denoise, and such that hear alone (SGLang Diffusion; TensorRT-LLM,
examples/visual_gen and examples/models/core/whisper)."""
_LACKING = {
    **dict.fromkeys(("vision", "recommendation", "other"), OF_LANGUAGE),
    **dict.fromkeys(("diffusion", "audio"), OF_LANGUAGE - _ALSO_DENOISE),
}
"""Programs whose lists lack a kind of models, but for those that they name (``kg.terms.tasks.serves``)."""
_GGUF = "llama.cpp"
"""The program whose files those of GGUF types are."""
READS_GGUF = frozenset({_GGUF, "ollama", "ktransformers", "vllm", "sglang"})
"""Those that read such files (vLLM, features/quantization/gguf; SGLang, ``--load-format gguf``)."""
ON_ASCEND = {"vllm": "vllm-ascend", "megatron-lm": "mindspeed-llm"}
"""Programs that replace others on Ascend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningFramework:
    """The framework that a question is about.

    Attributes:
        id: Id of the framework.
        version: Its release; empty if unknown.
        is_assumed: Whether the question did not state its release, or did not name it at all.
        below: Software that it passes settings on to.
        plugged: What the question names, where this is its plugin for the hardware; else empty.
    """

    id: str
    version: str = ""
    is_assumed: bool = False
    below: frozenset[str] = frozenset()
    plugged: str = ""

    @property
    def assumed(self) -> tuple[StatedFact, ...]:
        """The program and its release, where the question leaves them open."""
        return (assumed_release(self.id, self.version, self.plugged),) if self.is_assumed else ()


def running_framework(
    problem: Problem, vendor: str, architecture: str, frameworks: Sequence[Framework]
) -> RunningFramework | None:
    """The framework that a question names, or else the usual one; None if there is neither.

    Args:
        problem: The question.
        vendor: Maker of the hardware, or its kind of chips, as :func:`maker_of` says.
        architecture: Of the model; empty if unknown.
        frameworks: Those that the graph knows.

    Raises:
        InputError: All that it names serve models, and it is about training, or the other way round.
        NoEvidenceError: The one that it names is not known to run on such hardware, or such models.
    """
    by_id = {item.id: item for item in frameworks}
    now: Mapping[str, Value] = problem.current or {}
    variants = {name: variant_of(name, now) for name in problem.software}
    by_id |= {name: by_id[other] for name, other in variants.items() if other in by_id}
    trains = problem.workload.kind is WorkloadKind.TRAINING
    model = problem.workload.model or ""
    maker = MAKERS.get(vendor, vendor)
    server = _usual(vendor, problem, is_language=True)
    is_language = architecture in GENERATORS or (
        not trains and (task_of(model) in POOLED or serves(server, model) is True)
    )
    denoises = trains and architecture == "diffusion"
    plugin = next((ON_ASCEND.get(name, name) for name in problem.software if vendor == "huawei"), "")
    if not trains and serves(plugin, model) is False:
        raise NoEvidenceError(
            f"{plugin} says that it does not serve {model}",
            hint="--software names another program, such as torch-npu",
        )
    # the usual program, each rule overruling those before: the work, diffusion, adapters, rewards, the file
    usual = by_id.get(_usual(vendor, problem, is_language=is_language))
    usual = by_id.get(_OF_DIFFUSION.get(vendor, ""), usual) if denoises else usual
    if trains and usual is not None and _has_adapters(problem) and spell("lora_rank", usual.id) is None:
        usual = by_id.get(_OF_ADAPTERS, usual)
    if trains and problem.workload.traits.get("rewards") is True:
        usual = by_id.get(_OF_REWARDS, usual)
    is_gguf = not trains and (problem.workload.precision or "") in GGUF_BITS
    usual = by_id.get(_GGUF, usual) if is_gguf else usual
    stated = [by_id[name] for name in problem.software if name in by_id]
    named = [item for item in stated if not (item.is_server if trains else item.only_trains)]
    if stated and not named:
        not_this = "training" if trains else "serving"
        raise InputError(
            f"{stated[0].id} is not for {not_this} models, which the question is about",
            hint=f"--software names a program for {not_this}; --phase another phase",
        )
    # a version of PyTorch describes the environment of the program; it does not choose PyTorch as the program
    if usual is not None and usual.id != LIBRARY and usual.reads(LIBRARY):
        named = [item for item in named if item.id != LIBRARY]
    if named:  # the one that runs on the others: vllm-ascend before torch-npu
        top = max(named, key=lambda item: (sum(item.reads(other.id) for other in named), item.id))
        version = str(
            next((problem.software[name] for name in problem.software if by_id.get(name) is top), "") or ""
        )
        if top.id in _LACKING.get(architecture, ()) and serves(top.id, model) is not True:
            raise NoEvidenceError(
                f"{top.id} is a program of language models, which {model} is none of",
                hint="--software names another program" + (f", such as {usual.id}" if usual else ""),
            )
        if is_gguf and top.id not in READS_GGUF:
            raise NoEvidenceError(
                f"{top.id} reads no files of {problem.workload.precision}, a type of GGUF",
                hint=f"--software names another program, such as {_GGUF}; --precision another format",
            )
        is_plugged = usual is not None and usual.id != top.id and usual.reads(top.id)
        makers = {vendor} if is_plugged else {vendor, maker}
        runs_here = not top.hardware or bool(makers & set(top.hardware))
        if vendor and not runs_here and not is_plugged:
            raise NoEvidenceError(
                f"{top.id} is known on {', '.join(top.hardware)} alone, not on {vendor}",
                hint="--software names another program" + (f", such as {usual.id}" if usual else ""),
            )
        if usual is None or not is_plugged or (version and runs_here):
            found = _running(top, version)
            older = "" if version else release_of(top.id, now)
            return replace(found, version=older) if older else found
        followed = "" if runs_here else _release_like(usual.id, version)
        return _running(usual, followed, top.id)  # vLLM on Ascend is its plugin
    return None if usual is None else _running(usual)


def maker_of(path: Sequence[str]) -> str:
    """The kind of chips with an engine of its own on the path of hardware, else the maker; or empty."""
    return next((one for one in path if one in MAKERS), path[-1] if path else "")


def _usual(vendor: str, problem: Problem, *, is_language: bool) -> str:
    """Id of the usual program; empty if there is none."""
    named = (
        _USUAL.get((one, problem.workload.kind, is_language)) for one in (vendor, MAKERS.get(vendor, ""))
    )
    return next(filter(None, named), "")


def _has_adapters(problem: Problem) -> bool:
    """True if the question states that adapters are trained."""
    work = problem.workload
    said = statement({**work.traits, **work.shape, **(problem.current or {})}).facts
    return bool(said.get("lora_rank") or work.traits.get("lora"))


_OF_OLDER, _OLDER_SHARE = 3, 0.25
"""Settings that the newest release lacks, and their share, by which a launch is one of an older; a choice."""


def release_of(program: str, settings: Mapping[str, Value]) -> str:
    """The newest release that takes most of what a launch sets; empty where the newest of all does.

    What the newest says in other words is no reason to stay behind.
    """
    if program not in softwares():
        return ""
    known = registry(program)
    newest = known.at()
    looked = {name: newest.look_up(name, suggest=False) for name in settings}
    told = {name: one for name, one in looked.items() if one.setting is not None}
    gone = [
        name
        for name, one in told.items()
        if one.standing is Standing.REMOVED and successors(newest, one, settings[name]) is None
    ]
    if len(gone) < max(_OF_OLDER, _OLDER_SHARE * len(settings)) and len(gone) * 2 <= len(told):
        return ""

    def absent(release: str) -> int:
        found = (known.at(release).look_up(name, suggest=False).standing for name in told)
        return sum(standing in {Standing.REMOVED, Standing.NOT_YET} for standing in found)

    return min(reversed(known.releases[:-1]), key=absent, default="")


def _running(framework: Framework, version: str = "", plugged: str = "") -> RunningFramework:
    return RunningFramework(
        id=framework.id,
        version=version or newest_release(framework.id),
        is_assumed=not version,
        below=frozenset(framework.stack),
        plugged=plugged,
    )


def _release_like(framework: str, version: str) -> str:
    """The newest release of a plugin for that of the program it extends; empty if there is none."""
    releases = registry(framework).releases if framework in softwares() else ()
    return next((one for one in reversed(releases) if version and one.startswith(version)), "")


def newest_release(framework: str) -> str:
    """The newest final release of a framework whose settings ship; empty if none do."""
    try:
        releases = registry(framework).releases
    except UnknownEntityError:
        return ""
    final = [name for name in releases if name.replace(".", "").replace("post", "").isdigit()]
    return final[-1] if final else releases[-1]
