"""The law of starts: what is printed is read as a launch of its program, and nothing in it keeps that from starting."""

from typing import Any

import pytest

from ingest.questions.launches.launch import read_launch
from ingest.questions.launches.launch_facts import merge_facts
from ingest.questions.launches.running import running_settings
from kg.errors import NoEvidenceError, TuningError
from kg.nouns.audit import FindingLevel
from recommender.answers.answer import Answer
from recommender.ranking.paste import launch_text
from recommender.ranking.start import StartConfiguration
from recommender.workspace.workspace import Workspace

PROGRAMS = ("vllm", "vllm-ascend", "sglang", "tgi", "tei", "lmdeploy", "mindie", "tensorrt-llm", "llama.cpp")
MODELS = ("qwen3-8b", "bge-m3", "qwen3-reranker-4b", "gpt-oss-20b", "qwen2.5-vl-7b", "llama-3.1-70b")
CHIPS = (("l4", 1), ("h100-sxm", 8), ("ascend-910b3", 8), ("atlas-300i-duo", 1), ("radeon-rx-7900-xtx", 1))
LENGTHS: tuple[dict[str, int], ...] = ({}, {"input_len": 3000, "output_len": 500})
FEW = 1


def asked(few: int) -> list[Any]:
    """Each program with a few of the models and chips, all of them in the long tests."""
    found = []
    for number, program in enumerate(PROGRAMS):
        pairs = [(model, chip) for model in MODELS for chip in CHIPS]
        for place, (model, (chip, count)) in enumerate(pairs):
            is_few = (place + 7 * number) % (len(pairs) // few) == 0
            marks = () if is_few else pytest.mark.long
            found.append(pytest.param(program, model, chip, count, LENGTHS[place % 2], marks=marks))
    return found


def answered(shipped: Workspace, raw: dict[str, Any]) -> Answer | None:
    try:
        problem, notes = shipped.problem(raw)
        return shipped.recommend(problem, notes=notes)
    except TuningError:  # such a pair is refused by name, which is an answer
        return None


@pytest.mark.parametrize(("program", "model", "chip", "count", "lengths"), asked(FEW))
def test_every_start_that_is_printed_passes_the_check(
    shipped: Workspace, program: str, model: str, chip: str, count: int, lengths: dict[str, int]
) -> None:
    raw = {"model": model, "phase": "serving", "hardware": chip, "count": count, "shape": lengths}
    answer = answered(shipped, {**raw, "software": {program: ""}})
    for start in () if answer is None else answer.starts:
        assert answer is not None
        assert start.paste_lines
        assert not start.is_bare
        passes(shipped, answer, start, raw)


def passes(shipped: Workspace, answer: Answer, start: StartConfiguration, raw: dict[str, Any]) -> None:
    """Fail where the printed start is no launch of its program, or ``check`` finds that it does not start."""
    text = launch_text(start.settings, start.framework, start.checkpoint)
    stated = read_launch(text, "").question
    precision = answer.situation.facts["precision"].value
    software = {start.framework: start.version}
    question = {**stated, **raw, "software": software, "precision": precision}
    audit = shipped.launches.check(question, running_settings(text))
    assert audit.case.program == start.framework
    stopping = [f"{item.rule}: {item.text}" for item in audit.findings if item.level is FindingLevel.ERROR]
    assert not stopping, text


SCRIPTS = (
    ("text-generation-launcher --model-id a/Qwen3-8B --max-input-tokens 4096 --max-total-tokens 4096", ""),
    ("text-generation-launcher --model-id Qwen/Qwen3-8B --dtype bfloat16", "--dtype bfloat16"),
    ("text-embeddings-router --model-id BAAI/bge-m3 --dtype bfloat16", "--dtype float16"),
    ("text-embeddings-router --model-id BAAI/bge-m3 --dtype float32", ""),
    ("vllm serve Qwen/Qwen3-8B --dtype half --max-model-len 8192", "--dtype float16"),
    ("lmdeploy serve api_server Qwen/Qwen3-8B --dtype float16 --quant-policy 8", "--dtype float16"),
)
"""Launches, two that do not start, with the number format that stays in the start or takes its place."""


@pytest.mark.parametrize(("text", "kept"), SCRIPTS)
def test_the_start_of_a_script_passes_the_check(shipped: Workspace, text: str, kept: str) -> None:
    place = {"hardware": "l4", "count": 1}
    problem, notes = shipped.problem({**read_launch(text, "").question, **place})
    answer = shipped.launches.recommend(problem, running_settings(text), notes=notes)
    printed = "\n".join(answer.starts[0].paste_lines)
    assert kept in " ".join(printed.split())
    audit = shipped.launches.check({**read_launch(printed, "").question, **place}, running_settings(printed))
    assert not [item.rule for item in audit.findings if item.level is FindingLevel.ERROR], printed


def test_what_denoises_has_no_estimate_of_tokens(shipped: Workspace) -> None:
    raw = {"model": "flux.1-dev", "phase": "serving", "hardware": "geforce-rtx-4090"}
    with pytest.raises(NoEvidenceError, match="denoises in steps"):
        shipped.ask.estimate(raw)


def test_a_start_without_a_command_says_so(shipped: Workspace) -> None:
    bare = answered(shipped, {"model": "whisper-large-v3", "phase": "serving", "hardware": "ascend-910b3"})
    whole = answered(shipped, {"model": "qwen3-8b", "phase": "serving", "hardware": "ascend-910b3"})
    assert bare is not None
    assert whole is not None
    assert bare.starts[0].is_bare
    assert not bare.starts[0].paste_lines
    assert not whole.starts[0].is_bare


def test_what_the_engine_does_anyway_is_no_difference_to_a_script(shipped: Workspace) -> None:
    text = "vllm serve Qwen/Qwen3-8B --max-model-len 8192"
    raw = merge_facts([read_launch(text, "")])
    problem, notes = shipped.problem({**raw, "hardware": "l4", "count": 1})
    answer = shipped.launches.recommend(problem, running_settings(text), notes=notes)
    assert "--tensor-parallel-size 1" in " ".join(answer.starts[0].paste_lines)
    assert "--tensor-parallel-size" not in answer.added
    assert "--max-num-seqs" in answer.added


def test_the_samples_of_a_step_that_a_start_writes_are_said(shipped: Workspace) -> None:
    raw = {"model": "qwen3-8b", "phase": "training", "hardware": "ascend-910b3", "count": 8}
    for told in ({}, {"traits": {"global_batch": 64}}):
        answer = answered(shipped, {**raw, **told, "software": {"mindformers": ""}})
        assert answer is not None
        start, said = answer.starts[0], {fact.name: fact.value for fact in answer.assumed}
        assert start.layout is not None
        [turns] = [int(str(item.value)) for item in start.settings if item.key.endswith("micro_batch_num")]
        assert turns * start.layout.dp == (64 if told else said["current.global_batch"])
        assert not told or "current.global_batch" not in said
