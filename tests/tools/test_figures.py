"""A drawn row of published figures beside the same row of a run."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tools import figures

if TYPE_CHECKING:
    from pathlib import Path


def run(k1: float = 0.5) -> dict[str, Any]:
    ours = {
        "n": 1200,
        "devices": 6,
        "k1": k1,
        "k3": 0.75,
        "log_regret_k1": 0.1234,
        "se": {"k1": 0.05, "log_regret_k1": None},
    }
    empty = dict.fromkeys(("other_class", "other_vendor", "known_device"))
    tree = {"kernels": {"same_vendor": ours, **empty}}
    above = {"k1": k1 - 0.5, "k1_se": 0.01, "log_regret_k1": -0.1, "log_regret_k1_se": None}
    paired = {"kernels": {"same_vendor": above}}
    return {
        "nested": True,
        "constants": "abc",
        **tree,
        "above_copying": paired,
        "baselines": dict.fromkeys(figures.METHODS, tree),
    }


def page(k1: float) -> str:
    return "\n".join(["# A page", "", figures.HEAD, "|---|", *figures.rows(run(k1)), "", "more"])


def test_rows_of_a_run_are_found_on_the_page() -> None:
    assert figures.published(page(0.5)) == list(figures.rows(run()))
    [row] = figures.rows(run())
    assert row.startswith("| kernels | same vendor | 1,200 (6) | 0.50 +- 0.05 | 0.50 |")
    with pytest.raises(ValueError, match="no table"):
        figures.published("# Nothing")


def test_a_cell_may_differ_by_its_last_digit_alone() -> None:
    [told] = figures.rows(run(0.50))
    assert figures.differences(told, next(figures.rows(run(0.51)))) == []
    assert [line.split(":")[0] for line in figures.differences(told, next(figures.rows(run(0.53))))] == [
        "ours k1",
        *figures.METHODS,
        "k1 above nearest",
    ]


@pytest.mark.parametrize(("k1", "code"), [(0.5, None), (0.6, 1)])
def test_a_page_that_says_another_figure_ends_with_an_error(
    k1: float,
    code: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(figures, "PAGE", tmp_path / "page.md")
    figures.PAGE.write_text(page(k1))
    (tmp_path / "run.json").write_text("noise\n" + json.dumps(run()) + "\n")
    monkeypatch.setattr(sys, "argv", ["figures", "cases", "--from", str(tmp_path / "run.json")])
    if code is None:
        figures.main()
    else:
        with pytest.raises(SystemExit) as ended:
            figures.main()
        assert ended.value.code == code
    assert json.loads(capsys.readouterr().out)["same"] is (code is None)
