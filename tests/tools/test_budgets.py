"""Budgets of the features: what is counted, what is past its mark, and marks that only go down."""

from pathlib import Path

import pytest

from tools import budgets
from tools.source_tree import SourceModule, modules

FOLDERS = {"kg": "graph", "kg/rows": "store", "docs": "docs"}


def _row(**figures: int) -> budgets.Row:
    return {**dict.fromkeys(budgets.COLUMNS, 0), **figures}


def _made(folder: Path, **texts: str) -> list[SourceModule]:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return [SourceModule(Path(f"{name}.py"), folder) for name in texts]


def test_every_module_has_a_feature_and_every_feature_a_mark_with_what_pays_for_it() -> None:
    folders = budgets.folders_of_features()
    assert [item.name for item in modules() if budgets.feature_of(str(item.path), folders) is None] == []
    marks, paid = budgets.kept()
    assert set(marks) == set(paid) == set(folders.values())
    assert all(paid.values())
    assert not any(";" in text for text in paid.values()), "a row keeps the last of its texts"


def test_a_file_belongs_to_the_longest_path_it_begins_with() -> None:
    assert budgets.feature_of("kg/rows/a.py", FOLDERS) == "store"
    assert budgets.feature_of("kg/rowsteads.py", FOLDERS) == "graph"
    assert budgets.feature_of("cli/main.py", FOLDERS) is None


def test_lines_code_and_words_are_counted_by_feature(tmp_path: Path) -> None:
    (tmp_path / "kg" / "rows").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "kg" / "rows" / "a.py").write_text("class A: ...\n\n# why\nclass B(A): ...\n")
    (tmp_path / "kg" / "b.py").write_text("import kg.rows.a\n\nX = '--max-num-seqs'\n")
    (tmp_path / "docs" / "page.md").write_text("# Two words\n")
    table = budgets.count(["kg/rows/a.py", "kg/b.py", "docs/page.md", "Makefile"], FOLDERS, root=tmp_path)
    assert table["store"] == _row(lines=4, code=2, rooms=1, chain=2)
    assert table["graph"] == _row(lines=3, code=2, names=1)
    assert table["docs"] == _row(words=3)
    (tmp_path / "odd.py").write_text("")
    with pytest.raises(SystemExit, match=r"odd\.py: no feature has it"):
        budgets.count(["odd.py"], FOLDERS, root=tmp_path)


def test_a_room_is_small_and_has_one_door(tmp_path: Path) -> None:
    made = _made(
        tmp_path,
        small="X = 1\n",
        large="X = 1\n" * (budgets.ROOM + 1),
        shared="X = 1\n",
        one="from small import X\nimport large, shared\n",
        two="import shared\n",
    )
    assert [item.name for item in budgets.small_rooms(made)] == ["small"]


def test_what_grew_past_its_mark_is_named_and_so_is_a_feature_without_one() -> None:
    marks = {"graph": _row(lines=10, code=5)}
    assert budgets.grown({"graph": _row(lines=10, code=5)}, marks) == []
    grown = budgets.grown({"graph": _row(lines=11, code=5), "tune": _row(lines=1)}, marks)
    assert grown[0] == "graph: lines 11, mark 10"
    assert grown[1].startswith("tune: no mark; python -m tools.budgets --add 'tune' --paid-by")
    assert len(grown) == 2


def test_a_mark_goes_down_with_a_hundredth_to_spare_and_never_up() -> None:
    mark = _row(lines=2_000, code=100, rooms=4)
    assert budgets.lowered(mark, _row(lines=1_000, code=500, rooms=3)) == _row(lines=1_010, code=100, rooms=3)
