"""Output in Chinese: by option, locale or file; names, flags and JSON stay."""

import re
from typing import Any

import pytest

from kg.nouns.framework import Framework
from kg.nouns.knowledge import Bottleneck, Cause, HardwareProfile, ModelFamily, Strategy
from kg.triples.serialisation import all_of
from recommender.workspace.workspace import Workspace

QUESTION = ("--model", "千问3-32B", "--phase", "推理", "--hardware", "昇腾910B3", "--count", 4, "-k", 2)


def test_a_plan_is_in_chinese_and_keeps_names_and_flags(run: Any) -> None:
    ran = run("recommend", *QUESTION, "--lang", "zh")
    assert "起始配置（vllm-ascend" in ran.out
    assert "--tensor-parallel-size 4" in ran.out
    assert "原因：" in ran.err
    english = re.findall(r"\b(?:the|with|of|worth|fits)\b", re.sub(r"\(.*?\)|（.*?）|前提：.*", "", ran.out))
    assert english == []
    explained = run("explain", re.search(r"explain (\w+)", ran.err)[1], "--lang", "zh").out  # type: ignore[index]
    assert all(heading in explained for heading in ("为什么推荐它", "依据是什么", "什么会改变答案"))


@pytest.mark.parametrize("environment", [{"LANG": "zh_CN.UTF-8"}, {"TUNEGRAPH_LANG": "zh"}])
def test_the_locale_chooses_too(run: Any, environment: dict[str, str]) -> None:
    refused = run("similar", "--model", "千问3-32C", "--hardware", "昇腾910B3", environment=environment)
    assert refused.fault == "没有名为 '千问3-32C' 的模型"
    assert "是不是指 qwen3-32b" in refused.err


def test_json_is_the_same_in_both_languages(run: Any) -> None:
    one, other = (run("--lang", language, "similar", *QUESTION, "--json").json for language in ("en", "zh"))
    assert one == other


def test_common_spellings_mean_the_bottleneck(run: Any) -> None:
    for name in ("通信等待", "集合通信等待"):
        ran = run("recommend", *QUESTION, "--bottleneck", f"{name}=0.3", "--json")
        assert ran.json["problem"]["bottlenecks"] == {"collective-wait": 0.3}


def test_every_name_that_is_listed_has_a_chinese_one(shipped: Workspace) -> None:
    for kind in (ModelFamily, HardwareProfile, Bottleneck, Cause, Strategy, Framework):
        missing = [item.id for item in all_of(shipped.graph, kind) if not item.labels.get("zh")]
        assert missing == [], kind


KINDS = ["models", "hardware", "operators"]
"""Settings are among the screens of ``test_chinese``."""


@pytest.mark.parametrize("kind", KINDS)
def test_headings_of_lists_are_in_chinese(run: Any, kind: str) -> None:
    narrowed = () if kind == "operators" else ("--like", "32b" if kind == "models" else "a")
    ran = run("kb", "list", kind, *narrowed, "--lang", "zh")
    heading = ran.out.splitlines()[0]
    assert re.search(r"[\u4e00-\u9fff]", heading)
    assert re.findall(r"[a-z]{2,}", heading) == []
    assert "说明：" in ran.err
