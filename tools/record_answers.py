"""Record what every command of the command line answers, and compare two recordings.

A change of the code that is to change no answer is checked in three steps:

    python tools/record_answers.py record --out before.json     # in the old tree
    python tools/record_answers.py record --out after.json      # in the new tree, on the same machine
    python tools/record_answers.py compare before.json after.json --allow on-purpose.yaml

The questions stand in ``questions.yaml`` beside this script: a mapping of chains. The questions of a chain
share one folder and one workspace, a copy of the shipped one, and run one after the other; chains run beside
each other. Words in @ signs are put in: ``@python@``, ``@tree@``, ``@shared@`` and ``@id0@``, the id of the
first recommendation of the last JSON answer. What a question writes into the folder is part of its answer.

Each question is run by ``recording/fork_commands.py``, as the installed script would, with its own exit code.
Only the command line of the project is used.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # started by its path, it has its own folder

from tools.recording.comparison import compare
from tools.recording.questions import read_chains
from tools.recording.recorder import Places, record

HERE = Path(__file__).resolve()
QUESTIONS = HERE.with_name("questions.yaml")
DIFF_LINES = 24
"""Lines of a difference that are printed, unless --full is given."""


def main() -> int:
    """Run the script; its exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="record | compare")
    recording = verbs.add_parser("record", help="ask all questions and write the answers to a file")
    recording.add_argument("--out", type=Path, required=True, help="the file (JSON)")
    recording.add_argument("--tree", type=Path, default=HERE.parent.parent, help="checkout to ask; this one")
    recording.add_argument("--shared", type=Path, default=None, help="folder with data/; TREE/../shared")
    recording.add_argument("--cache", type=Path, help="where the text model is kept; made anew if not given")
    recording.add_argument("--questions", type=Path, default=QUESTIONS, help="another file of questions")
    recording.add_argument("--only", nargs="*", default=["*"], help="only these chains, such as 'kb-*'")
    recording.add_argument("--workers", type=int, default=2, help="processes at a time")
    comparing = verbs.add_parser("compare", help="print what differs between two files; exit 1 if anything")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument(
        "--allow", type=Path, help="YAML: id or pattern such as 'kb/*', and why it differs"
    )
    comparing.add_argument("--full", action="store_true", help="print differences whole")
    given = parser.parse_args()
    if given.verb == "record":
        _record(given)
    else:
        first, second = (json.loads(path.read_text(encoding="utf-8")) for path in (given.before, given.after))
        allowed = yaml.safe_load(given.allow.read_text(encoding="utf-8")) if given.allow else None
        return int(compare(first, second, allowed or {}, sys.maxsize if given.full else DIFF_LINES) > 0)
    return 0


def _record(given: argparse.Namespace) -> None:
    tree = given.tree.resolve()
    shared = (given.shared or tree.parent / "shared").resolve()
    has_shared = (shared / "data").is_dir()
    chains = [
        chain
        for chain in read_chains(given.questions)
        if chain.fresh or any(fnmatchcase(chain.name, pattern) for pattern in given.only)
    ]
    if not has_shared:
        left_out = sum(len(chain.questions) for chain in chains if chain.shared)
        print(f"no {shared / 'data'}: {left_out} questions about shared data are left out (--shared DIR)")
        chains = [chain for chain in chains if not chain.shared]
    began = time.monotonic()
    given.out.parent.mkdir(parents=True, exist_ok=True)

    def keep(answers: dict[str, dict[str, Any]]) -> None:
        about = {
            "tree": str(tree),
            "python": sys.version.split()[0],
            "questions": len(answers),
            "seconds": round(time.monotonic() - began),
            "cpu_seconds": round(sum(answer["cpu_s"] for answer in answers.values())),
        }
        content = json.dumps({"about": about, "answers": answers}, indent=1, ensure_ascii=False)
        given.out.write_text(content + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory(prefix="answers-") as work:
        places = Places(
            tree=tree,
            work=Path(work).resolve(),
            cache=(given.cache or Path(work) / "cache").resolve(),
            shared=shared if has_shared else None,
        )
        record(chains, places, given.workers, keep)
    counts = Counter(question.command for chain in chains for question in chain.questions)
    for command, count in sorted(counts.items()):
        print(f"{count:4}  {command}")
    print(f"{counts.total():4}  in {time.monotonic() - began:.0f} s, in {given.out}")


if __name__ == "__main__":
    sys.exit(main())
