"""The panel of kinds: a seed draws the same situations again, of every kind, and each law can be broken."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kinds.command_line import CommandResult
from benchmarks.kinds.engine_law import pasted
from benchmarks.kinds.laws import LAWS
from benchmarks.kinds.panel import KindPanel
from benchmarks.kinds.replies import Reply
from benchmarks.kinds.situations import LaunchForm, PanelSituation
from benchmarks.kinds.sources import EngineParsers, chips, models, official_recipes
from tools.oracle.judge import judge

N = 300
MODEL = next(item for item in models() if item.id == "qwen3-32b")
CHIP = next(item for item in chips() if item.id == "ascend-910b3")
TOLD = PanelSituation(
    number=0, origin="drawn", program="vllm-ascend", is_known=True, release="0.23.0", model="qwen3-32b", hardware="910b3",
    count=4, phase="serving", precision="bf16", load={"input_len": 2000, "output_len": 500, "concurrency": 64},
    layout={"tp": 4}, bounds={"requests": 64}, listed=MODEL, chip=CHIP,
)  # fmt: skip


@pytest.fixture(scope="module")
def drawn() -> list[PanelSituation]:
    return list(KindPanel(202648).draw(N))


def flag(key: str, value: object) -> dict[str, object]:
    return {"where": "flag", "key": key, "value": value}


def reply(*, code: int = 0, situation: PanelSituation = TOLD, cpu_s: float = 0.1, **changed: Any) -> Reply:
    """A good answer to the question, but for what is changed in its start or beside it."""
    beside: dict[str, Any] = {
        name: changed.pop(name)
        for name in ("alternatives", "changes", "findings", "understood", "support")
        if name in changed
    }
    settings = [flag("--tensor-parallel-size", 4), flag("--max-model-len", 4096), flag("--max-num-seqs", 64)]
    start: dict[str, Any] = {
        "framework": "vllm-ascend",
        "version": "0.23.0",
        "fits": True,
        "layout": {"tp": 4, "pp": 1, "dp": 1, "ep": 1, "cp": 1, "devices": 4},
        "settings": settings + changed.pop("more", []),
        "expected": [{"metric": "throughput", "value": 100.0}],
        "paste": ["vllm serve MODEL --tensor-parallel-size 4 \\", "  --max-num-seqs 64"],
    }
    content: dict[str, Any] = {"problem": {"objective": "throughput"}, "start": start | changed, **beside}
    return Reply(situation, CommandResult(code=code, out=json.dumps(content), err="", cpu_s=cpu_s))


def test_a_seed_draws_the_same_situations_again_and_another_others(drawn: list[PanelSituation]) -> None:
    assert [KindPanel(202648).situation(number) for number in range(5)] == drawn[:5]
    assert [item.model for item in KindPanel(202649).draw(20)] != [item.model for item in drawn[:20]]


def test_situations_are_of_every_form_phase_and_program_with_a_parser(drawn: list[PanelSituation]) -> None:
    assert {item.form for item in drawn} == set(LaunchForm)
    assert {item.phase for item in drawn} == {"serving", "prefill", "decode", "training"}
    assert {"vllm", "vllm-ascend", "sglang", "mindie", "megatron-lm", "mindspeed-llm"} <= {
        i.program for i in drawn
    }
    assert {"huawei", "nvidia", "amd"} <= {item.vendor for item in drawn}
    assert min(Counter(item.origin for item in drawn).values()) > N / 10
    assert 0.2 < sum(bool(item.precision) for item in drawn) / N < 0.7


def test_degrees_divide_the_devices_and_loads_are_within_the_model(drawn: list[PanelSituation]) -> None:
    for item in drawn:
        product = 1
        for size in item.layout.values():
            product *= size
        assert item.count % product == 0
        if item.listed and item.origin == "drawn":
            assert sum(v for k, v in item.load.items() if k != "concurrency") <= (
                item.listed.size("max_positions") or 4096
            )


def test_what_a_launch_sets_is_what_its_parser_takes(drawn: list[PanelSituation]) -> None:
    parsers = EngineParsers()
    for item in drawn:
        if item.origin == "drawn" and item.release and item.form is LaunchForm.SCRIPT:
            known = {name for s in parsers.settings(item.program, item.release) for name in s.spellings}
            assert {setting.key for setting in item.settings} <= known
            argv, environment = pasted(item.text.replace("set -e\n", "").splitlines())
            faults = judge(item.program, item.release, argv, environment)
            assert not [fault for fault in faults if "unrecognized" in fault or "invalid" in fault], item.text


def test_recipes_that_ship_are_read_with_their_load() -> None:
    recipes = official_recipes([])
    assert len(recipes) > 400
    assert sum("concurrency" in item.load for item in recipes) > 100


def test_a_good_answer_breaks_no_law() -> None:
    verdicts = {name: law(reply()) for name, law in LAWS.items()}
    assert not any(verdicts.values()), verdicts
    judged = {name for name, verdict in verdicts.items() if verdict is not None}
    assert judged == set(LAWS) - {"unknown program", "memory model", "nothing better", "experts"}


SPREAD = {"tp": 4, "pp": 1, "dp": 4, "ep": 8, "cp": 1, "devices": 16}
DENSE = {**TOLD.load, "concurrency": 65}
BROKEN: dict[str, list[Reply]] = {
    "exit": [reply(code=1), reply(fits=False), reply(code=-1), reply(code=-2), reply(code=4, situation=TOLD), reply(code=2)],
    "time": [reply(cpu_s=5.1)],
    "unknown program": [reply(situation=replace(TOLD, program="made-up", is_known=False))],
    "software": [reply(framework="vllm"), reply(version="0.21.0")],
    "precision": [
        reply(more=[flag("--quantization", "ascend")]),
        reply(more=[flag("--dtype", "float16")]),
        reply(more=[flag("--quantization", "fp8")], situation=replace(TOLD, precision="w8a8")),
        reply(more=[flag("--bf16", None)], situation=replace(TOLD, precision="fp8", phase="training", load={})),
    ],
    "lengths": [reply(situation=replace(TOLD, load={"input_len": 4000, "output_len": 500}))],
    "load": [reply(situation=replace(TOLD, load=DENSE))],
    "devices": [reply(situation=replace(TOLD, count=8)), reply(situation=replace(TOLD, count=2))],
    "layout": [reply(situation=replace(TOLD, layout={"tp": 2, "pp": 2}))],
    "experts": [reply(framework="vllm", layout=SPREAD), reply(layout=SPREAD, more=[flag("--enable-expert-parallel", True), flag("--data-parallel-size", 4)])],
    "bounds": [reply(situation=replace(TOLD, bounds={"requests": 32}))],
    "weights": [reply(situation=replace(TOLD, chip=replace(CHIP, memory_bytes=16e9)))],
    "memory model": [reply(code=4, fits=False, framework="torch", situation=replace(TOLD, program="torch"))],
    "nothing better": [
        reply(alternatives=[{"expected": [{"metric": "throughput", "value": 101.0}]}]),
        reply(changes=[{"gain": {"expected_factor": 0.99}}]),
    ],
    "parts": [
        reply(more=[flag("--enable-expert-parallel", True)]),
        reply(more=[flag("--kv-cache-dtype", "fp8")], understood={"has_fp8": False}),
        reply(more=[flag("--limit-mm-per-prompt", "{}")]),
        reply(more=[{"where": "env", "key": "NCCL_ALGO", "value": "Ring"}]),
    ],
    "defaults": [reply(changes=[{"settings": [flag("--enable-chunked-prefill", True)]}])],
    "places": [reply(more=[flag("--dist-init-addr", "FIRST_SERVER_IP:50000")])],
    "engine": [
        reply(paste=["vllm serve MODEL --no-such-flag 1"]),
        reply(paste=["vllm serve MODEL --max-num-seqs many"]),
        reply(version="0.0.1"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", LAWS)
def test_every_law_is_broken_by_what_it_forbids(name: str) -> None:
    assert BROKEN[name]
    for answer in BROKEN[name]:
        assert LAWS[name](answer), answer.content.get("start")


def test_a_size_that_is_said_not_to_start_need_not_hold() -> None:
    told = replace(TOLD, layout={"tp": 8})
    finding = {"kind": "refused", "level": "error", "remedy": {"write": "--tensor-parallel-size 4"}}
    assert LAWS["layout"](reply(situation=told, findings=[finding])) == ""
    assert LAWS["layout"](reply(situation=told, findings=[finding | {"level": "warning"}]))


def test_experts_are_spread_as_priced_by_one_of_two_servers() -> None:
    switch = [flag("--enable-expert-parallel", True), flag("--data-parallel-size", 2)]
    assert LAWS["experts"](reply(layout=SPREAD, more=switch)) == ""


def test_a_lack_of_memory_is_arithmetic_or_the_word_of_a_model() -> None:
    law = LAWS["memory model"]
    assert law(reply(code=4, fits=False)) == ""
    small = replace(TOLD, program="torch", count=1, chip=replace(CHIP, memory_bytes=32e9))
    assert law(reply(code=4, fits=False, framework="torch", situation=small)) == ""
    by_table = reply(code=4, fits=False, support={"memory": True}, situation=replace(TOLD, program="torch"))
    assert law(by_table) == ""


def test_commands_ask_about_the_same_situation() -> None:
    words = TOLD.argv("recommend", Path("f"))
    assert words[:1] == ["recommend"]
    assert words[1:] == TOLD.argv("predict", Path("f"))[1:]
    assert "concurrency=64" in words
    assert "vllm-ascend=0.23.0" in words
