import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kg.errors import InputError
from kg.nouns.codec import (
    NOT_IN_JSON,
    OR_NULL,
    Empty,
    JsonNoun,
    fields_json,
    four_digits,
    in_json,
    noun_of,
    plain,
)
from kg.nouns.entities import Better
from kg.nouns.values import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(JsonNoun):
    name: str
    share: float = field(default=0.5, metadata=in_json(digits=2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(JsonNoun):
    better: Better
    parts: tuple[Part, ...] = ()
    pair: tuple[int, str] = (1, "a")
    settings: Settings = field(default_factory=Settings)
    folder: Path = Path("a")
    words: tuple[str, ...] | str | None = None
    by_name: Mapping[str, Part] = field(default_factory=dict)
    at: datetime = datetime(2026, 1, 2, tzinfo=UTC)
    more: Sequence[int] = (1,)
    secret: int = field(default=1, metadata=NOT_IN_JSON)
    note: str = field(default="", metadata=OR_NULL)
    role: str = field(default="", metadata=in_json("the_role", empty=Empty.OMITTED))
    sign: float = field(default=math.inf, metadata=OR_NULL)
    double: int = field(default=2, metadata=in_json(write=lambda x: 2 * x, read=lambda x: x // 2))


WHOLE = Whole(
    better=Better.LOWER,
    parts=(Part(name="x", share=0.123),),
    settings=Settings({"a": [1, 2]}),
    words=("a", "b"),
    by_name={"p": Part(name="y")},
)
CONTENT = {
    "better": "lower",
    "parts": [{"name": "x", "share": 0.12}],
    "pair": [1, "a"],
    "settings": {"a": [1, 2]},
    "folder": "a",
    "words": ["a", "b"],
    "by_name": {"p": {"name": "y", "share": 0.5}},
    "at": "2026-01-02T00:00:00+00:00",
    "more": [1],
    "note": None,
    "sign": None,
    "double": 4,
}


def test_each_field_is_written_in_its_form_and_in_order() -> None:
    assert list(WHOLE.to_json().items()) == list(CONTENT.items())


def test_what_was_written_is_read() -> None:
    plain_fields = {name: value for name, value in CONTENT.items() if name not in {"note", "sign"}}
    whole = Whole.from_json(plain_fields)
    assert whole.parts == (Part(name="x", share=0.12),)
    assert (whole.words, whole.settings, whole.folder) == (WHOLE.words, WHOLE.settings, WHOLE.folder)
    assert (whole.by_name, whole.pair, whole.double, whole.better) == (
        {"p": Part(name="y")},
        (1, "a"),
        2,
        Better.LOWER,
    )
    assert (whole.at, whole.more) == (WHOLE.at, (1,))
    assert Whole.from_json({"better": "lower", "words": "text"}).words == "text"


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(InputError) as error:
        noun_of(Whole, {"parts": [{"nam": "x"}], "folder": 3, "pair": [1], "surplus": 1})
    for part in ("'better' is missing", "unknown field 'nam'", "'name' is missing", "3 is no str", "'pair'"):
        assert part in str(error.value)
    assert "unknown field 'surplus'" in str(error.value)


@pytest.mark.parametrize("content", ["text", None, [1]])
def test_what_is_no_object_is_refused(content: object) -> None:
    with pytest.raises(InputError, match="no object"):
        Part.from_json(content)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [True, "0.5", None])
def test_a_number_is_a_number(share: object) -> None:
    with pytest.raises(InputError, match="share"):
        Part.from_json({"name": "x", "share": share})


def test_a_spread_noun_stands_among_the_fields_and_what_json_lacks_is_refused() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Around:
        part: Part = field(metadata=in_json(is_spread=True))
        last: int = 1

    assert fields_json(Around(part=Part(name="x"))) == {"name": "x", "share": 0.5, "last": 1}
    with pytest.raises(TypeError, match="complex"):
        plain(1j)


def test_values_of_other_kinds() -> None:
    assert plain(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)) == "2026-01-02T03:04:05+00:00"
    assert plain(frozenset({"b", "a"})) == ["a", "b"]
    assert plain({1: (0.123,)}, 1) == {"1": [0.1]}
    assert (four_digits(12345.6), four_digits(None)) == (12350.0, None)
