"""The board: misses first, intervals judged, a page that stands alone, and what has no folder is skipped."""

import json
import re
import sys
from pathlib import Path

import pytest

from benchmarks import board

PASSES = (
    "model,phase,devices,tp,dp,ep,pp,precision,hardware,batch_per_dp_rank,query_len,context_len,mtp_drafted,graph,measured_s,source\n"
    "qwen3-8b,decode,2,2,1,1,1,bf16,ascend-910b2,32,1,1024,0,1,{},an owner\n"
    "no-such-model,decode,2,2,1,1,1,bf16,ascend-910b2,32,1,1024,0,1,1,an owner\n"
)


def row(name: str, ours: float, low: float, high: float, *, hit: bool, measured: float = 100) -> board.Row:
    return board.Row(
        name=name, theirs="<b>", hit=hit, numbers=(ours, low, high), measured=measured, unit="ms"
    )


def test_misses_come_first_and_the_farthest_before_all() -> None:
    right, near, far = (
        row("a", 90, 80, 120, hit=True),
        row("b", 50, 40, 60, hit=False),
        row("c", 10, 5, 20, hit=False),
    )
    refused = board.Row(name="d", theirs="TP 2", ours="refused: no layout")
    html = board.page([board.section("Tables", [right, near, far, refused])], "today")
    names = re.findall(r'<th scope="row">(\w)</th>', html)
    assert names == ["d", "c", "b", "a"]
    assert "1 of 4 right; 1 of 3 measurements inside our 90 % interval" in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert re.findall(r'(?:src|href)="(?!https://)', html) == []


@pytest.mark.long
def test_a_folder_is_asked_and_what_is_not_there_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "measured").mkdir()
    (tmp_path / "measured" / "forward_passes.csv").write_text(PASSES.format(0.0154), encoding="utf-8")
    page = tmp_path / "board.html"
    monkeypatch.setattr(sys, "argv", ["board", str(tmp_path), "--output", str(page), "--all"])
    board.main()
    told = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("skipped: ") for line in told) == 3
    found = json.loads(told[-1])["groups"]["Measured passes"]
    assert (found["n"], found["right"], found["inside_n"]) == (2, 0.5, 0)
    html = page.read_text(encoding="utf-8")
    assert "skipped: recipes is not there" in html
    assert html.index("no-such-model") < html.index("qwen3-8b")
