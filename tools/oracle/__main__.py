"""Reads the settings of released programs into ``data/settings``, and judges launches by them.

    python -m tools.oracle judge vllm 0.25.1 < argv
    python -m tools.oracle mine vllm-ascend SOURCES --ref v0.18.0 --with vllm=0.18.0
    python -m tools.oracle own vllm 0.32.0 --python VENV/bin/python

``argv`` is one word a line, or lines of a shell; words ``NAME=value`` before it are its environment.
``SOURCES`` is a folder with a checkout of the release, or with an installed package. Nothing in it is run or
imported. How a release is mined stands in docs/knowledge.md.
"""

import argparse
import gc
import json
import random
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kg.errors import MissingDependencyError, UnknownEntityError
from kg.nouns.release import release_key
from tools.oracle.judge import judge
from tools.oracle.own import compare
from tools.oracle.settings.checkout import checkout
from tools.oracle.settings.history import State, add_releases, state_of, to_text
from tools.oracle.settings.mining import mine
from tools.oracle.settings.plans import PLANS
from tools.oracle.settings.source import read_module

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
    mined.add_argument("sources", nargs="*", help="folder, archive, or REPOSITORY@TAG; one for each release")
    mined.add_argument("--ref", default="", help="tag or commit that the sources are of")
    mined.add_argument(
        "--release", default="", help="name of the release; made of the tag where it is not given"
    )
    mined.add_argument("--with", dest="beneath", action="append", default=[], metavar="NAME=RELEASE")
    mined.set_defaults(run=_mine)
    own = commands.add_parser("own", help="compare the judge with the package's own parser")
    own.add_argument("software")
    own.add_argument("release")
    own.add_argument("--python", type=Path, required=True, help="interpreter that has the package")
    own.add_argument("--count", type=int, default=300, help="generated argvs")
    own.add_argument("--seed", type=int, default=0)
    own.set_defaults(run=_own)
    mined.add_argument("--out", type=Path, default=SHIPPED, help="folder of the registry")
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


def _own(given: argparse.Namespace) -> int:
    try:
        found = compare(given.software, given.release, given.python, given.count, random.Random(given.seed))
    except (UnknownEntityError, MissingDependencyError) as error:
        print(f"{error} ({error.hint})", file=sys.stderr)
        return 2 if isinstance(error, UnknownEntityError) else 1
    for words, own, ours in found.differences:
        print(
            shlex.join(words),
            f"  package: {own or 'accepted'}",
            f"  judge:   {'; '.join(ours) or 'accepted'}",
            sep="\n",
        )
    print(f"{found.agreed} of {found.asked} agree")
    return 0 if found.agreed == found.asked else 1


def _mine(given: argparse.Namespace) -> int:
    path = given.out / f"{given.software}.json"
    try:
        text = to_text(_with_releases(given, _content(path)))
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)
    return 0


def _content(path: Path) -> dict[str, Any] | None:
    content: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    return content


def _with_releases(given: argparse.Namespace, content: dict[str, Any] | None) -> dict[str, Any]:
    if given.software not in PLANS:
        raise ValueError(f"no plan for {given.software!r}: one of {', '.join(PLANS)}")
    plan = PLANS[given.software]
    gc.disable()  # syntax trees hold no rings, and are walked for each thousand of them otherwise
    paired = dict(item.split("=", 1) for item in given.beneath)
    for name in paired.keys() - set(plan.beneath):
        raise ValueError(f"--with {name}={paired[name]}: one of {', '.join(plan.beneath)}")
    found: dict[str, tuple[str, State, dict[str, str]]] = {}
    for source in given.sources:
        with checkout(plan, source, given.release, given.ref) as opened:
            release_key(opened.release)
            state = state_of(mine(plan, opened.folder, opened.release))
            found[opened.release] = (opened.ref, state, opened.beneath | paired)
            print(f"{given.software} {opened.release}: {len(state)} settings", file=sys.stderr)
        read_module.cache_clear()
    return add_releases(content, plan, found)


if __name__ == "__main__":
    sys.exit(main())
