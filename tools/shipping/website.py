"""Builds the documentation as a site with a search: ``python -m tools.shipping.website FOLDER``.

Sphinx builds it (``pip install '.[docs]'``), and a link that leads nowhere ends the build. The pages are
those of ``docs/`` in the order of its index, with both READMEs, the changelog, and what they link to.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
FROM_ROOT = ("README.md", "README.zh.md", "CHANGELOG.md", "CONTRIBUTING.md")
_CONFIGURATION = """\
project = "tunegraph"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "tunegraph"
myst_heading_anchors = 4
suppress_warnings = ["myst.header", "toc.not_included", "misc.highlighting_failure"]
"""
_RENAMED = {"search.md": "searches.md"}
"""Pages whose names Sphinx has for its own."""
_LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")


def write_sources(folder: Path) -> None:
    """Write what Sphinx builds: all pages in one folder, their links to files of the repository followed."""
    for path in sorted((ROOT / "docs").glob("*.md")):
        (folder / _name_of(path)).write_text(_with_links(path, folder), encoding="utf-8")
    for name in FROM_ROOT:
        (folder / name).write_text(_with_links(ROOT / name, folder), encoding="utf-8")
    index = folder / "index.md"
    pages = re.findall(r"^\* .*?\]\(([\w.-]+)\.md\)", index.read_text(encoding="utf-8"), re.MULTILINE)
    listed = "\n".join([*pages, "README.zh", "CHANGELOG", "CONTRIBUTING"])
    with index.open("a", encoding="utf-8") as stream:
        stream.write(f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n")
    (folder / "conf.py").write_text(_CONFIGURATION, encoding="utf-8")


def _name_of(page: Path) -> str:
    return _RENAMED.get(page.name, page.name)


def _with_links(page: Path, folder: Path) -> str:
    """A page whose links lead to pages beside it, or to copies of files and listings of folders."""

    def followed(found: re.Match[str]) -> str:
        place, part = found[1], found[2] or ""
        if ":" in place:
            return found[0]
        target = (page.parent / place).resolve()
        if target.suffix == ".md":
            return f"]({_name_of(target)}{part})"
        if target.is_dir():
            name = f"{target.name}-files.md"
            files = "\n".join(f"* `{item.name}`" for item in sorted(target.iterdir()) if item.is_file())
            (folder / name).write_text(f"# {target.name}\n\n{files}\n", encoding="utf-8")
            return f"]({name})"
        copy = folder / "files" / target.name
        copy.parent.mkdir(exist_ok=True)
        if target.is_file():
            shutil.copyfile(target, copy)
        return f"](files/{target.name})"

    text = page.read_text(encoding="utf-8")
    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)
    return "".join(part if at % 2 else _LINK.sub(followed, part) for at, part in enumerate(parts))


def main() -> int:
    """Build the site; exit with the code of Sphinx."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to write it")
    target = parser.parse_args().folder
    with TemporaryDirectory() as place:
        write_sources(Path(place))
        command = [
            sys.executable,
            "-m",
            "sphinx",
            "-b",
            "html",
            "-W",
            "--keep-going",
            "-q",
            place,
            str(target),
        ]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
