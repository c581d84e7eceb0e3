"""Draw what a command prints as a picture of a terminal, for the README.

    python -m tools.terminal_picture docs/pictures/recommend.svg -- recommend --model qwen3-32b ...

The command is run; what it prints is what is drawn, 80 columns wide. No fonts are fetched: the picture names
common ones. Colours do for light and dark pages alike. TUNEGRAPH_LANG=zh draws it in Chinese.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.harness import option, parse
from cli.text.width import columns_of

WIDTH = 80
LETTER, LINE, EDGE = 8.4, 19.0, 18.0
"""Width of a letter at 14 pixels in the named fonts, height of a line, and margin; in pixels."""

HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" role="img"
aria-label="{title}">
<style>
text {{ font: 14px "DejaVu Sans Mono", Menlo, Consolas, "Noto Sans Mono CJK SC", monospace; fill: #d8dee9;
white-space: pre }}
.prompt {{ fill: #a3be8c }} .head {{ fill: #ffffff; font-weight: bold }} .aside {{ fill: #8f9bb3 }}
</style>
<rect width="100%" height="100%" rx="9" fill="#20242e"/>
"""


def printed(words: list[str]) -> list[str]:
    """The lines that a command prints on stdout."""
    script = Path(sys.executable).with_name("tunegraph")
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    done = subprocess.run(
        [str(script), *words], stdout=subprocess.PIPE, env=environment, text=True, check=True
    )
    return done.stdout.rstrip("\n").split("\n")


def picture(words: list[str], lines: list[str]) -> str:
    """A command and its output as SVG."""
    command = "tunegraph " + shlex.join(words)
    shown = [("prompt", part) for part in _command_lines(command)] + [(_kind(line), line) for line in lines]
    height = 2 * EDGE + LINE * len(shown)
    parts = [
        HEAD.format(width=2 * EDGE + LETTER * WIDTH, height=height, title=escape(command, {'"': "&quot;"}))
    ]
    for place, (kind, line) in enumerate(shown, 1):
        if line.strip():
            length = LETTER * columns_of(line)
            parts.append(
                f'<text x="{EDGE:.0f}" y="{EDGE + LINE * place - 5:.0f}" class="{kind}" '
                f'textLength="{length:.1f}" lengthAdjust="spacingAndGlyphs">{escape(line)}</text>\n'
            )
    return "".join([*parts, "</svg>\n"])


def _command_lines(command: str) -> list[str]:
    """A command as it is typed, continued where it is too long."""
    lines = ["$"]
    for word in re.findall(r"--\S+(?: (?!--)\S+)*|\S+", command):
        if columns_of(lines[-1]) + columns_of(word) + 3 > WIDTH:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}"
    return lines


def _kind(line: str) -> str:
    if line.lstrip().startswith(("# ", "Not here")):
        return "aside"
    return "head" if line[:1].strip() and not line[:1].isdigit() and not line.startswith("Or ") else "plain"


def main() -> None:
    """Run the command and write the picture."""
    given = parse(__doc__, option("out", type=Path), option("words", nargs="+"))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(picture(given.words, printed(given.words)), encoding="utf-8")


if __name__ == "__main__":
    main()
