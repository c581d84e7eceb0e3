"""Laws of the audit: a cure clears its finding, order and layout of a script change nothing, a start is without what costs.

Scripts are drawn from settings that cost and settings that do not, in any order, on one line or on many.
"""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.questions.launches.running import running_settings
from kg.nouns.audit import FindingLevel
from recommender.audit.audit import shipped_rules
from recommender.audit.case import AuditCase
from recommender.audit.finding import SettingFinding
from recommender.audit.judge import judge_settings
from recommender.workspace.workspace import Workspace

COSTLY = (
    "--enforce-eager",
    "--no-enable-prefix-caching",
    "--gpu-memory-utilization 0.3",
    "--dtype float32",
    "--max-num-batched-tokens 256",
    "--gpu-memory-utilisation 0.9",
    "--num-scheduler-steps 8",
    "--kv-cache-dtype fp9",
    "--max-num-seqs 2",
)
HARMLESS = (
    "--tensor-parallel-size 2",
    "--max-model-len 8192",
    "--trust-remote-code",
    "--port 8000",
    "--seed 1",
    "--served-model-name chat",
    "--enable-auto-tool-choice",
)
VARIABLES = (
    "CUDA_LAUNCH_BLOCKING=1",
    "NCCL_P2P_DISABLE=1",
    "NCCL_DEBUG=TRACE",
    "TORCH_DISTRIBUTED_DEBUG=DETAIL",
)

flags = st.lists(st.sampled_from(COSTLY + HARMLESS), unique_by=lambda words: words.split()[0], max_size=9)
variables = st.lists(st.sampled_from(VARIABLES), unique=True)


def script(words: list[str], names: list[str], *, many_lines: bool) -> str:
    between = " \\\n  " if many_lines else " "
    return (
        "".join(f"export {name}\n" for name in names)
        + between.join(["vllm serve Qwen/Qwen3-8B", *words])
        + "\n"
    )


def found(text: str) -> dict[tuple[str, str], SettingFinding]:
    case = AuditCase(settings=running_settings(text), program="vllm", version="0.33.0", is_told=True)
    return {(item.rule, item.setting.key): item for item in judge_settings(case, shipped_rules())}


@given(words=flags, names=variables, many_lines=st.booleans())
def test_every_finding_stands_on_the_line_of_its_setting(
    words: list[str], names: list[str], many_lines: bool
) -> None:
    text = script(words, names, many_lines=many_lines)
    lines = text.splitlines()
    for item in found(text).values():
        assert item.setting.line is not None
        assert item.setting.key in lines[item.setting.line - 1]


@given(words=flags, names=variables, many_lines=st.booleans())
def test_a_cure_clears_its_finding_and_makes_no_other(
    words: list[str], names: list[str], many_lines: bool
) -> None:
    text = script(words, names, many_lines=many_lines)
    before = found(text)
    for key, item in before.items():
        value = "" if item.setting.value == "true" else rf"[ =]{re.escape(item.setting.value)}"
        if item.setting.key.startswith("-"):
            cured = re.sub(rf"{re.escape(item.setting.key)}(?![\w-]){value}", item.remedy, text)
        else:
            line = f"export {item.remedy}\n" if item.remedy else ""
            cured = text.replace(f"export {item.setting.key}={item.setting.value}\n", line)
        assert cured != text
        after = found(cured)
        assert key not in after
        assert set(after) <= set(before)


@given(words=flags, names=variables, many_lines=st.booleans(), data=st.data())
def test_order_and_layout_change_no_finding(
    words: list[str], names: list[str], many_lines: bool, data: st.DataObject
) -> None:
    one = found(script(words, names, many_lines=many_lines))
    shuffled = data.draw(st.permutations(words)), data.draw(st.permutations(names))
    other = found(script(*shuffled, many_lines=not many_lines))
    assert {key: item.level for key, item in one.items()} == {key: item.level for key, item in other.items()}


@given(words=st.lists(st.sampled_from(HARMLESS), unique=True), many_lines=st.booleans())
def test_a_script_without_costs_has_no_finding(words: list[str], many_lines: bool) -> None:
    assert found(script(words, [], many_lines=many_lines)) == {}


def test_a_start_is_without_what_its_findings_take_back(shipped: Workspace) -> None:
    starts_without(shipped, [*COSTLY], [*VARIABLES])


@pytest.mark.long
@settings(max_examples=12)
@given(words=flags, names=variables)
def test_no_start_has_what_its_findings_take_back(
    shipped: Workspace, words: list[str], names: list[str]
) -> None:
    starts_without(shipped, words, names)


def starts_without(shipped: Workspace, words: list[str], names: list[str]) -> None:
    running = running_settings(script(words, names, many_lines=True))
    raw = {
        "model": "qwen3-8b",
        "phase": "serving",
        "hardware": "h100-sxm",
        "count": 2,
        "software": {"vllm": "0.33.0"},
        "current": {item.key.lstrip("-").replace("-", "_"): item.value for item in running},
    }
    problem, _ = shipped.problem(raw)
    answer = shipped.launches.recommend(problem, running)
    check = shipped.launches.check(raw, running)
    assert {item.rule for item in answer.findings} == {item.rule for item in check.findings}
    pasted = "\n".join(answer.starts[0].paste_lines)
    for item in answer.findings:
        if item.level is FindingLevel.ERROR and str(item.kind) in {"cost", "debugging", "precision"}:
            assert item.text not in pasted
