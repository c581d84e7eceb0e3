"""The page on architecture names files that exist."""

import re

from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("\n## One workspace")[0]
WAYS = PAGE.partition("## Five ways through the code")[2]


def test_every_file_it_names_exists() -> None:
    paths = set(re.findall(r"`([a-z_]+/[\w/]*(?:\.py)?)`", PAGE))
    assert len(paths) > 30
    assert [path for path in paths if path.endswith((".py", "/")) and not (ROOT / path).exists()] == []


def test_each_way_has_five_steps_with_files() -> None:
    steps = re.findall(r"^\d\. .*(?:\n   .*)*", WAYS, flags=re.MULTILINE)
    assert len(steps) == 25
    assert [step for step in steps if ".py`" not in step] == []
