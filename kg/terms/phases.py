"""The phases of a workload: the words people use, the kind of workload, the activity and its synonyms."""

from dataclasses import dataclass

from kg.nouns.entities import Workload, WorkloadKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase.

    Attributes:
        name: Canonical name.
        kind: Kind of workload that is in this phase.
        scope: Name of the phase in the scope of a strategy.
        activity: Operator of a workload that is a whole model in this phase; empty for kernels.
        synonyms: Other operators that sources use for the activity.
        words: Names of the phase in English and Chinese.
    """

    name: str
    kind: WorkloadKind
    scope: str
    activity: str = ""
    synonyms: frozenset[str] = frozenset()
    words: tuple[str, ...]


PHASES = (
    Phase(
        name="training",
        kind=WorkloadKind.TRAINING,
        scope="training",
        activity="train",
        synonyms=frozenset({"pretrain", "llm_pretrain", "finetune"}),
        words=("training", "train", "finetune", "训练", "微调"),
    ),
    Phase(
        name="prefill",
        kind=WorkloadKind.SERVING,
        scope="prefill",
        activity="prefill",
        words=("prefill", "预填充"),
    ),
    Phase(
        name="decode",
        kind=WorkloadKind.SERVING,
        scope="decode",
        activity="decode",
        words=("decode", "解码"),
    ),
    Phase(
        name="inference",
        kind=WorkloadKind.SERVING,
        scope="inference",
        activity="serve",
        synonyms=frozenset({"llm_serve", "llm_generate", "infer"}),
        words=("serving", "inference", "serve", "推理"),
    ),
    Phase(name="operator", kind=WorkloadKind.OPERATOR, scope="kernel", words=("operator", "算子")),
    Phase(name="kernel", kind=WorkloadKind.KERNEL, scope="kernel", words=("kernel",)),
    Phase(name="hpc", kind=WorkloadKind.HPC, scope="kernel", words=("hpc",)),
)
"""All phases."""

PHASE_OF_WORD = {word: phase for phase in PHASES for word in phase.words}
"""Phases by the words that people use, in lower case."""

SCOPES = tuple(dict.fromkeys(phase.scope for phase in PHASES))
"""Phases that the scope of a strategy may name."""

STEP_PHASE = {
    WorkloadKind.TRAINING: PHASE_OF_WORD["training"],
    WorkloadKind.SERVING: PHASE_OF_WORD["serving"],
}
"""Phase of a whole step or request, by the kinds of workload that run a whole model."""


def scopes_of(workload: Workload) -> frozenset[str]:
    """Return the phases of strategies that apply to a workload."""
    if workload.operator in {"prefill", "decode"}:
        return frozenset({"inference", workload.operator})
    return frozenset(phase.scope for phase in PHASES if phase.kind is workload.kind)


def same_activity(workload_kind: WorkloadKind) -> frozenset[str]:
    """Return the operators that name the same activity of a whole model; empty for kernels."""
    phase = STEP_PHASE.get(workload_kind)
    return frozenset() if phase is None else phase.synonyms | {phase.activity}
