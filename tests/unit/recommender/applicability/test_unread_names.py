"""Names in a question that nothing reads are said, with the name that may be meant."""

from typing import Any

import pytest

from kg.errors import InputError
from kg.nouns.entities import Better, Hardware, Objective, Problem, Workload, WorkloadKind
from kg.nouns.values import Settings
from kg.terms.setting_registry import registry
from recommender.applicability.unread_names import refuse_misspelt, unread_names, without_unread


def asked(**stated: dict[str, Any]) -> Problem:
    return Problem(
        workload=Workload(
            kind=WorkloadKind.SERVING,
            operator="serve",
            model="m",
            shape=Settings(stated.get("shape", {})),
            traits=Settings(stated.get("traits", {})),
        ),
        hardware=Hardware(name="npu"),
        objective=Objective(metric="throughput", better=Better.HIGHER),
        current=Settings(stated.get("current", {})),
        software=Settings(stated.get("software", {})),
    )


def notes(release: str = "0.18.0", /, **stated: dict[str, Any]) -> list[str]:
    facts = {"rope_theta": 1e4, "architecture": stated.get("architecture", {"is": "decoder"})["is"]}
    return unread_names(asked(**stated), facts, ("mindie",), registry("vllm-ascend").at(release))


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"shape": {"inputlen": 5}}, "nothing reads the size inputlen; did you mean input_len?"),
        ({"traits": {"concurency": 5}}, "nothing reads the trait concurency; did you mean concurrency?"),
        ({"traits": {"colour": "red"}}, "nothing reads the trait colour"),
        (
            {"current": {"max_num_seq": 5}},
            "vllm-ascend 0.18.0 has no setting max_num_seq; did you mean --max-num-seqs?",
        ),
        (
            {"software": {"vllm-ascnd": "1"}},
            "no program named vllm-ascnd is known; did you mean vllm-ascend?",
        ),
    ],
)
def test_a_name_that_nothing_reads_is_said(stated: dict[str, dict[str, Any]], said: str) -> None:
    assert notes(**stated) == [said]


def test_misspelt_sizes_are_refused_all_at_once_and_unlike_ones_are_not() -> None:
    refuse_misspelt(asked(shape={"prompt_length": 5}, traits={"colour": "red"}))
    with pytest.raises(InputError, match=r"size inputlen; .* input_len\?; .* trait concurency; .*"):
        refuse_misspelt(asked(shape={"inputlen": 5}, traits={"concurency": 5}))


def test_a_release_that_was_not_read_is_said() -> None:
    assert [note.startswith("vllm-ascend 99.0 was not read") for note in notes("99.0")] == [True]


def test_what_is_read_is_not_mentioned() -> None:
    said = notes(
        shape={"isl": 1, "batch_size": 2, "global_batch": 3, "rope_theta": 4},
        traits={"concurrency": 1, "setting[x]": 1, "block_shape": "1x2"},
        current={"max_num_seqs": 4, "--tensor-parallel-size": 2, "HCCL_BUFFSIZE": 5, "micro_batch": 1},
        software={"mindie": "2", "cann": "8.5", "in-house-engine": "1"},
    )
    assert said == []


def test_a_model_of_images_has_no_sequences() -> None:
    shape = {"seq_len": 4096}
    assert notes(shape=shape, architecture={"is": "vision"}) == [
        "a model of images has no sequences: seq_len is not read"
    ]
    assert notes(shape=shape) == []


def test_what_nothing_reads_is_left_out_of_what_decides() -> None:
    problem = asked(
        shape={"input_len": 128, "colour": 3}, traits={"concurrency": 8, "colour_of_the_rack": 17}
    )
    read = without_unread(problem, {"layers": 4})
    assert dict(read.workload.shape) == {"input_len": 128}
    assert dict(read.workload.traits) == {"concurrency": 8}


def test_lengths_are_sizes_however_a_question_states_them() -> None:
    lengths = {"input_len": 1024, "output_len": 256}
    one, other = (without_unread(asked(**stated), {}) for stated in ({"shape": lengths}, {"traits": lengths}))
    assert one.task_id == other.task_id
    both = without_unread(asked(shape=lengths, traits={"input_len": 9}), {})
    assert both.workload.shape["input_len"] == 1024


def test_sizes_that_launches_state_are_no_misspelling() -> None:
    refuse_misspelt(asked(shape={"kv_lora_rank": 512, "dense_layers": 1}))  # like lora_rank, device_layers


def test_what_an_option_tells_is_no_trait() -> None:
    with pytest.raises(InputError, match="framework is told by --software; trait: phase is told by --phase"):
        refuse_misspelt(asked(traits={"phase": "training", "framework": "tei"}))


def test_of_a_model_without_sizes_nothing_is_read_but_what_all_questions_state() -> None:
    problem = asked(shape={"seq_len": 4096}, traits={"colour": 3})
    stated = {"seq_len": 4096, "colour": 3}
    assert unread_names(problem, stated, [], None) == ["nothing reads the trait colour"]
    assert unread_names(problem, {**stated, "hidden_size": 8}, [], None) == []
