"""What released programs say: read their settings into ``data/settings``, and judge launches by them.

    python -m tools.oracle judge vllm 0.25.1 < argv
    python -m tools.oracle mine vllm-ascend SOURCES --ref v0.18.0 --with vllm=0.18.0
    python -m tools.oracle compare vllm-ascend 0.18.0 0.23.0

``argv`` is one word a line, or lines of a shell; words ``NAME=value`` before it are its environment.
``SOURCES`` is a folder with a checkout of the release, or with an installed package. Nothing in it is run or
imported. How a release is mined stands in docs/knowledge.md.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kg.errors import UnknownEntityError
from kg.nouns.release import release_key
from tools.oracle.judge import judge
from tools.oracle.settings.curated import curated
from tools.oracle.settings.history import add_release, difference, state_of, to_text
from tools.oracle.settings.mining import mine
from tools.oracle.settings.plans import PLANS

if TYPE_CHECKING:
    from collections.abc import Sequence

SHIPPED = Path(__file__).resolve().parents[2] / "data" / "settings"
_VARIABLE = re.compile(r"[A-Za-z_]\w*=")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.oracle", description=(__doc__ or "").split("\n", maxsplit=1)[0]
    )
    commands = parser.add_subparsers(dest="command", required=True)
    judged = commands.add_parser("judge", help="say whether a release accepts the launch on standard input")
    judged.add_argument("software")
    judged.add_argument("release")
    judged.set_defaults(run=_judge)
    mined = commands.add_parser("mine", help="read a release into the registry")
    mined.add_argument("software")
    mined.add_argument("sources", nargs="?", type=Path, help="folder with the sources of the release")
    mined.add_argument("--ref", default="", help="tag or commit that the sources are of")
    mined.add_argument(
        "--release", default="", help="name of the release; made of the tag where it is not given"
    )
    mined.add_argument("--with", dest="beneath", action="append", default=[], metavar="NAME=RELEASE")
    mined.add_argument(
        "--curated", action="store_true", help="write what is curated by hand, without sources"
    )
    mined.set_defaults(run=_mine)
    compared = commands.add_parser("compare", help="report what changed between two releases")
    compared.add_argument("software")
    compared.add_argument("old")
    compared.add_argument("new")
    compared.set_defaults(run=_compare)
    for command in (mined, compared):
        command.add_argument("--out", type=Path, default=SHIPPED, help="folder of the registry")
    given = parser.parse_args(arguments)
    return int(given.run(given))


def _judge(given: argparse.Namespace) -> int:
    text = sys.stdin.read()
    lines = text.splitlines()
    try:
        words = (
            shlex.split(text.replace("\\\n", " "), comments=True)
            if any(" " in line.strip() and line.strip()[:1] != "{" for line in lines)
            else [line for line in lines if line]
        )
        first = next((number for number, word in enumerate(words) if not _VARIABLE.match(word)), len(words))
        environment = dict(word.split("=", 1) for word in words[:first])
        complaints = judge(given.software, given.release, words[first:], environment)
    except (UnknownEntityError, ValueError) as error:
        hint = f" ({error.hint})" if isinstance(error, UnknownEntityError) else ""
        print(f"{error}{hint}", file=sys.stderr)
        return 2
    print("\n".join(complaints) or "accepted")
    return 1 if complaints else 0


def _mine(given: argparse.Namespace) -> int:
    path = given.out / f"{given.software}.json"
    if given.curated:
        text = to_text(curated(given.software))
    else:
        fault = _fault(given)
        if fault:
            print(fault, file=sys.stderr)
            return 2
        release = given.release or given.ref.removeprefix("core_").removeprefix("v")
        paired = dict(item.split("=", 1) for item in given.beneath)
        plan = PLANS[given.software]
        state = state_of(mine(plan, given.sources))
        text = to_text(add_release(_content(path), plan, release, given.ref, state, paired))
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)
    return 0


def _content(path: Path) -> dict[str, Any] | None:
    content: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return content


def _fault(given: argparse.Namespace) -> str:
    if given.software not in PLANS:
        return f"no plan for {given.software!r}: one of {', '.join(PLANS)}"
    if given.sources is None or not given.sources.is_dir():
        return f"no folder of sources: {given.sources}"
    try:
        release_key(given.release or given.ref)
    except ValueError as error:
        return f"{error}: give --ref, and --release where the tag is not its name"
    unknown = [item for item in given.beneath if item.split("=", 1)[0] not in PLANS[given.software].beneath]
    return f"--with {unknown[0]}: one of {', '.join(PLANS[given.software].beneath)}" if unknown else ""


def _compare(given: argparse.Namespace) -> int:
    content = _content(given.out / f"{given.software}.json")
    known = [name for name, _ in content["releases"]] if content else []
    for name in (given.old, given.new):
        if content is None or name not in known:
            print(
                f"{given.software} {name} was not mined: one of {', '.join(known) or 'none'}", file=sys.stderr
            )
            return 2
    if content is None:
        return 2
    found = difference(content, given.old, given.new)
    print(
        f"{given.software} {given.old} to {given.new}: {len(found.added)} added, "
        f"{len(found.removed)} removed, {len(found.changed)} with another default"
    )
    for place, key in found.added:
        print(f"+ {place} {key}")
    for (place, key), successor in found.removed:
        print(f"- {place} {key}" + (f" (now {successor})" if successor else ""))
    for (place, key), before, after in found.changed:
        print(f"~ {place} {key}: {before} -> {after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
