"""Learns ``data/retrieval/outlook.json``: intervals of gains, and the regret to expect, by circumstances.

``python -m tools.fitting.fit_outlook CASES`` asks as ``unseen.py`` does, beside the truth, and reports how
well the outlook does on each device, and on each collection, when it is learned without it. ``--write``
ships it.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from benchmarks.answers import unseen
from benchmarks.answers.outlook_figures import figures, left_out
from benchmarks.harness import last_line, option, parse
from benchmarks.protocols.folds import sampled_folds
from benchmarks.protocols.processes import ROOT, in_processes
from benchmarks.worlds.world import load
from recommender.calibration.outlook import Checked, Outlook
from recommender.ranking.cases.circumstances import CIRCUMSTANCES
from tools.fitting.fit_ranking import SHARE

PATH = ROOT / "data" / "retrieval" / "outlook.json"


def main() -> None:
    """Read the options, do what the module says, and print the figures."""
    arguments = parse(
        __doc__,
        option("cases", type=Path),
        option("--asked", type=int, default=40, help="problems asked in each fold at most"),
        option("--write", action="store_true"),
    )
    rows: list[tuple[str, tuple[str, ...], Checked]] = []
    with tempfile.TemporaryDirectory() as place:
        world = load(arguments.cases, Path(place) / "known", SHARE)
        unseen.use(world, world)
        made = sampled_folds(world, arguments.asked)
        for _, part in in_processes(unseen.run, made, len(os.sched_getaffinity(0))):
            rows += part
    told = {}
    for what, block in (("device", lambda r: r[2].device), ("collection", lambda r: r[0])):
        told[f"left_out_{what}"] = figures(rows, left_out(rows, block))
    if arguments.write:
        origin = "tools/fitting/fit_outlook.py: questions about the public case collections, as of unseen.py"
        outlook = Outlook.fit([row[2] for row in rows], CIRCUMSTANCES, origin)
        PATH.write_text(json.dumps(outlook.to_json(), indent=1) + "\n", encoding="utf-8")
        print(f"written: {PATH.name}", file=sys.stderr)
    last_line(told)


if __name__ == "__main__":
    main()
