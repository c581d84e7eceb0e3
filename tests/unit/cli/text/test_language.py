"""The language of a run."""

import io
import json
import re
import sys
from collections.abc import Iterator

import pytest

from cli.main import language_first
from cli.text.language import (
    Name,
    choose_language,
    keep,
    localised,
    templates,
    use_language,
    use_terms,
)
from data import text as shipped_text
from kg.errors import InputError

PLACES = re.compile(r"\{(\w+)\}")


@pytest.fixture
def chinese() -> Iterator[None]:
    use_language("zh")
    yield
    use_language("en")


@pytest.mark.parametrize(
    ("option", "configured", "environment", "language"),
    [
        (None, "", {}, "en"),
        ("zh", "en", {"LANG": "en_US.UTF-8"}, "zh"),
        (None, "zh", {"LANG": "en_US.UTF-8"}, "zh"),
        (None, "en", {"LANG": "zh_CN.UTF-8"}, "en"),
        (None, "", {"LC_ALL": "", "LC_MESSAGES": "zh_TW", "LANG": "C"}, "zh"),
    ],
)
def test_the_option_wins_then_the_file_then_the_locale(
    option: str | None, configured: str, environment: dict[str, str], language: str
) -> None:
    assert choose_language(option, configured, environment) == language


@pytest.mark.parametrize(
    ("option", "configured", "place"), [("fr", "", "--lang"), (None, "fr", "tunegraph.toml")]
)
def test_a_language_that_there_is_not_is_refused(option: str | None, configured: str, place: str) -> None:
    with pytest.raises(InputError, match=f"{place}: no language 'fr'"):
        choose_language(option, configured, {})


@pytest.mark.parametrize(("encoding", "shown"), [("latin-1", "one device"), ("gbk", "单卡")])
def test_an_output_without_chinese_letters_has_english(
    monkeypatch: pytest.MonkeyPatch, encoding: str, shown: str
) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    use_language("zh")
    assert localised("one device") == shown
    use_language("en")


@pytest.mark.usefixtures("chinese")
def test_what_a_user_wrote_stays_as_it_is() -> None:
    assert localised("No such command 'nothing'.") == "没有命令 'nothing'。"


@pytest.mark.parametrize(
    ("english", "text"),
    [
        ("known", "依据"),
        ("  # memory: 32 GB of each device", "  # 显存：每卡 32 GB"),
        (
            "Start with vllm 0.18: TP 4, 954 tokens/s (534 to 1,702); modelled at 8 requests at once",
            "起始配置（vllm 0.18）：TP 4, 954 tokens/s（534 至 1,702）；建模：并发 8 个请求",
        ),
        ("Or TP 2 at 20 ms; DP 2 at 30 ms", "备选 TP 2：20 ms; DP 2：30 ms"),
        ("a (B) (requests: 2; no draft layers); Weights kept (it is set already)",
         "a（B）（requests: 2；没有自带的 MTP 层）；权重常驻（已经设置）"),
        ("modelled: the cost model prices it so; recipes agree by 12%", "建模：由代价模型估算；官方配方一致度 12%"),
        ("   gain        unknown", "   收益        未知"),
        ("1. Weights kept   [x]", "1. 权重常驻   [x]"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("chinese")
def test_texts_are_put_into_chinese_with_what_stands_in_them(english: str, text: str) -> None:
    use_terms({"Weights kept": "权重常驻"})
    assert localised(english) == text


@pytest.mark.usefixtures("chinese")
def test_lines_of_a_file_stay_as_they_are() -> None:
    text = (
        "a.log: nothing of its 4 lines is understood; nearest are line 1: served on four devices; line 3: x"
    )
    assert localised(text).endswith("line 1: served on four devices; line 3: x")


def test_a_text_stands_in_one_section_and_once() -> None:
    texts: list[str] = []

    def section(pairs: list[tuple[str, object]]) -> dict[str, object]:
        texts.extend(key for key, value in pairs if isinstance(value, str))
        return dict(pairs)

    json.loads(shipped_text("texts/zh.json"), object_pairs_hook=section)
    assert sorted({english for english in texts if texts.count(english) > 1}) == []
    assert set(texts) == set(templates())


def test_a_template_has_the_same_places_in_both_languages() -> None:
    for english, chinese in templates().items():
        places = PLACES.findall(english)
        assert sorted(places) == sorted(PLACES.findall(chinese)), english
        assert len(set(places)) == len(places), english


@pytest.mark.parametrize(
    ("words", "ordered"),
    [
        ("recommend -k 1 --lang zh", "--lang zh recommend -k 1"),
        ("ab run -- train --lang zh", "ab run -- train --lang zh"),
        ("kb stats", "kb stats"),
        ("kb stats --lang", "--lang kb stats"),
    ],
)
def test_the_language_may_stand_anywhere_before_a_foreign_command(words: str, ordered: str) -> None:
    assert language_first(words.split()) == ordered.split()


@pytest.mark.usefixtures("chinese")
def test_what_the_user_has_named_is_not_translated() -> None:
    assert localised("attention (B=1) on a100, by latency").startswith("注意力（")
    keep(["attention", "memory"])
    assert localised("attention (B=1) on a100, by latency").startswith("attention（")
    assert [localised("memory"), localised(Name("compute")), localised("compute")] == [
        "memory",
        "compute",
        "计算",
    ]
