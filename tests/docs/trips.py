"""Which files of the product a command enters, in order: ``python -m tests.docs.trips COMMAND ...``.

The last line is JSON: the files by the first function of theirs that ran, and how many functions did. What
runs when a module is imported is left out.
"""

import contextlib
import json
import sys
import threading
from types import CodeType, FrameType

from tests.docs.blocks import ROOT

PACKAGES = ("cli", "data", "embeddings", "ingest", "kg", "recommender", "tunegraph")
_OPTIMISED = 0x1
"""CO_OPTIMIZED: the body of a function, not that of a module or a class."""


def walk(arguments: list[str]) -> tuple[list[str], int]:
    """Run a command; return the files that it enters, and the number of functions."""
    seen: dict[CodeType, None] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.setdefault(frame.f_code)

    from cli.main import main

    sys.argv = ["tunegraph", *arguments]
    threading.setprofile(look)
    sys.setprofile(look)
    with contextlib.suppress(SystemExit):
        main()
    sys.setprofile(None)
    root = f"{ROOT}/"
    entered = [
        code.co_filename.removeprefix(root)
        for code in seen
        if code.co_flags & _OPTIMISED and code.co_filename.startswith(root)
    ]
    ours = [path for path in entered if path.split("/")[0] in PACKAGES]
    return list(dict.fromkeys(ours)), len(ours)


if __name__ == "__main__":
    files, functions = walk(sys.argv[1:])
    print(json.dumps({"files": files, "functions": functions}))
