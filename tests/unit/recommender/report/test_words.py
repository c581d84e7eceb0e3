"""The words of a page in both languages."""

import ast
import json
import string
from pathlib import Path

import pytest

import recommender.report
from data import text
from kg.errors import InputError
from recommender.report.words import Words

CHINESE = json.loads(text("report/words-zh.json"))


def sentences() -> set[str]:
    """All that the sections say: first arguments of calls of ``words``, titles, parts."""
    found: set[str] = set()
    for path in Path(str(recommender.report.__file__)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "words" and node.args:
                first = node.args[0]
                if isinstance(first, ast.Constant):
                    found.add(str(first.value))
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "TITLE":
                found.add(str(ast.literal_eval(node.value)))
    return found


def fields(sentence: str) -> set[str]:
    return {str(name) for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_every_sentence_is_there_in_chinese() -> None:
    assert len(sentences()) > 150
    assert sorted(sentences() - CHINESE.keys()) == []


def test_a_translation_has_the_fields_of_its_sentence() -> None:
    assert [english for english, chinese in CHINESE.items() if fields(english) != fields(chinese)] == []


def test_values_are_escaped_and_terms_are_spoken() -> None:
    words = Words("zh")
    assert words("Note: {text}", text="<b>") == "注意：&lt;b&gt;"
    assert words.term("step_time") == "步时间"
    assert words.term("unknown_metric") == "unknown metric"
    assert words("nobody says this") == "nobody says this"
    assert words.missing == {"nobody says this"}
    assert Words()("{a}{b}", a="{x}", b=1) == "{x}1"


def test_other_languages_are_refused() -> None:
    with pytest.raises(InputError, match="no such language"):
        Words("tlh")
