"""The pictures of the README show what their commands print."""

import html
import re
import shlex
from pathlib import Path

import pytest

from tools.terminal_picture import picture, printed

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


@pytest.mark.long
@pytest.mark.parametrize("name", ["recommend.svg", "recommend.zh.svg"])
def test_a_picture_shows_what_is_printed(
    name: str, shipped_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TUNEGRAPH_WORKSPACE", str(shipped_path))
    monkeypatch.setenv("TUNEGRAPH_LANG", "zh" if ".zh." in name else "en")
    drawn = (PICTURES / name).read_text(encoding="utf-8")
    [command] = re.findall(r'aria-label="tunegraph ([^"]*)"', drawn)
    words = shlex.split(html.unescape(command))
    assert drawn == picture(words, printed(words)), f"draw {name} again: tools/terminal_picture.py"
