"""Phases: one word leads to one kind, activity and scope."""

import pytest

from kg.nouns.entities import Workload, WorkloadKind
from kg.terms.phases import PHASE_OF_WORD, SCOPES, STEP_PHASE, same_activity, scopes_of


@pytest.mark.parametrize(
    ("kind", "operator", "scopes"),
    [
        (WorkloadKind.TRAINING, "pretrain", {"training"}),
        (WorkloadKind.SERVING, "serve", {"inference", "prefill", "decode"}),
        (WorkloadKind.SERVING, "decode", {"inference", "decode"}),
        (WorkloadKind.OPERATOR, "matmul", {"kernel"}),
        (WorkloadKind.HPC, "stencil", {"kernel"}),
    ],
)
def test_a_workload_has_the_scopes_of_its_kind(kind: WorkloadKind, operator: str, scopes: set[str]) -> None:
    assert scopes_of(Workload(kind=kind, operator=operator)) == scopes
    assert scopes <= set(SCOPES)


def test_words_of_both_languages_name_the_same_phase() -> None:
    assert PHASE_OF_WORD["推理"] is PHASE_OF_WORD["serving"] is STEP_PHASE[WorkloadKind.SERVING]
    assert PHASE_OF_WORD["推理"].activity == "serve"
    assert PHASE_OF_WORD["算子"].activity == ""


def test_only_whole_models_have_an_activity() -> None:
    assert {"train", "pretrain"} <= same_activity(WorkloadKind.TRAINING)
    assert not same_activity(WorkloadKind.TRAINING) & same_activity(WorkloadKind.SERVING)
    assert same_activity(WorkloadKind.KERNEL) == frozenset()
