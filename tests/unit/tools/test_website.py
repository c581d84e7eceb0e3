"""The sources of the site: every page of the documentation, with links that lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.shipping.website import ROOT, write_sources


def test_every_page_is_there_and_every_link_has_a_target(tmp_path: Path) -> None:
    write_sources(tmp_path)
    pages = {path.name for path in tmp_path.glob("*.md")}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - {"search.md"} < pages
    assert {"README.md", "searches.md", "CONTRIBUTING.md"} <= pages
    toctree = (tmp_path / "index.md").read_text(encoding="utf-8").partition("```{toctree}")[2]
    assert "searches" in toctree.split()
    assert "search" not in toctree.split()
    for path in tmp_path.glob("*.md"):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s#]+)", text):
            assert ":" in link or (tmp_path / link).exists(), f"{path.name}: {link}"


@pytest.mark.long
def test_sphinx_builds_it_without_a_warning(tmp_path: Path) -> None:
    for needed in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(needed)
    command = [sys.executable, "-m", "tools.shipping.website", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "searchindex.js").is_file()
