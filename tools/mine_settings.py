"""Mine the settings of a program's release from its sources into ``data/settings``, or compare two releases.

    python tools/mine_settings.py vllm-ascend SOURCES --ref v0.18.0 --with vllm=0.18.0
    python tools/mine_settings.py vllm-ascend --compare 0.18.0 0.23.0
    python tools/mine_settings.py cann --curated

``SOURCES`` is a folder with a checkout of the release, or with an installed package. Nothing in it is run or
imported. How a release is mined stands in docs/knowledge.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from kg.nouns.release import release_key
from tools.settings.curated import curated
from tools.settings.history import add_release, difference, state_of, to_text
from tools.settings.mining import mine
from tools.settings.plans import PLANS

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "settings"


def main(arguments: list[str] | None = None) -> int:
    """Run one of the three; returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("software", help="name of the program")
    parser.add_argument("sources", nargs="?", type=Path, help="folder with the sources of the release")
    parser.add_argument("--ref", default="", help="tag or commit that the sources are of")
    parser.add_argument(
        "--release", default="", help="name of the release; made of the tag where it is not given"
    )
    parser.add_argument("--with", dest="beneath", action="append", default=[], metavar="NAME=RELEASE")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="report what changed")
    parser.add_argument(
        "--curated", action="store_true", help="write what is curated by hand, without sources"
    )
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder of the registry")
    given = parser.parse_args(arguments)
    path = given.out / f"{given.software}.json"
    content: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
    if given.compare:
        return _compare(content, given.software, *given.compare)
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
        text = to_text(add_release(content, plan, release, given.ref, state, paired))
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}", file=sys.stderr)
    return 0


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


def _compare(content: dict[str, Any] | None, software: str, old: str, new: str) -> int:
    known = [name for name, _ in content["releases"]] if content else []
    for name in (old, new):
        if content is None or name not in known:
            print(f"{software} {name} was not mined: one of {', '.join(known) or 'none'}", file=sys.stderr)
            return 2
    if content is None:
        return 2
    found = difference(content, old, new)
    print(
        f"{software} {old} to {new}: {len(found.added)} added, {len(found.removed)} removed, "
        f"{len(found.changed)} with another default"
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
