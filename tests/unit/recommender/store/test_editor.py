"""A user's own knowledge is taken in whole, or nothing of it."""

from pathlib import Path

import pytest

from kg.errors import CaseFormatError, InputError
from recommender.workspace.workspace import Workspace

VENDOR = "hardware:\n  - {id: acme, level: vendor, label: {en: Acme}}\n"
CHILD = "  - {id: acme-one, level: family, broader: nobody, label: {en: Acme One}}\n"


@pytest.mark.parametrize(
    ("kind", "text", "says"),
    [
        ("weather", VENDOR, "cannot add 'weather'"),
        ("hardware", "hardware: []\n", "none of hardware"),
        ("hardware", f"{VENDOR}{CHILD}", "nobody"),
        ("model", VENDOR, "belongs to hardware, not to a model file"),
        ("hardware", VENDOR.replace("acme", "a b"), "a b"),
    ],
)
def test_nothing_of_a_file_that_is_wrong_is_taken_in(
    empty_path: Path, tmp_path: Path, kind: str, text: str, says: str
) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(text)
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        with pytest.raises(InputError) as refused:
            editor.add_file(kind, file)
        faults = refused.value.faults if isinstance(refused.value, CaseFormatError) else ()
        assert says in f"{refused.value} {faults}"
        assert editor.batch == 0
    with Workspace.open(empty_path, cache=tmp_path) as workspace:
        assert workspace.hardware.ids() == []


def test_a_file_that_is_right_is_there_for_the_next_reader(empty_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(VENDOR)
    with Workspace.editor(empty_path, cache=tmp_path) as editor:
        assert [noun.id for noun in editor.add_file("hardware", file)] == ["acme"]
    with Workspace.open(empty_path, cache=tmp_path) as workspace:
        assert workspace.hardware.ids() == ["acme"]
