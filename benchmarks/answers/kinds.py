"""The panel of kinds: questions that nobody wrote, judged by laws and by the engines' own parsers alone.

    python -m benchmarks.answers.kinds [--asked DIR]... [--n 1000] [--quick] [-v]

Situations are drawn by the seed from official recipes (those that ship, and those of the folders), the parsers of
released engines and the lists of the graph, by program, chip, phase, load and form of launch. Each is asked of
``recommend`` and, for the price, of ``predict``, ``estimate`` and ``size``; a law that does not apply is not counted. Shares are
of the answers that a law was judged on; ``answered`` is the share of plans among all questions, and ``clean`` that of
answered questions in which every law held. The last line is one JSON object.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import harness
from benchmarks.kinds.command_line import CommandLine
from benchmarks.kinds.laws import LAWS, judge_reply
from benchmarks.kinds.panel import KindPanel
from benchmarks.kinds.prices import PRICES, judge_prices
from benchmarks.kinds.replies import Reply

QUICK = 100


Verdicts = dict[str, str | None]
"""What breaks each law; empty where it holds, None where it does not apply."""


def main() -> None:
    run = harness.read(
        __doc__,
        harness.place("--asked", action="append", default=[], help="a folder of official recipes"),
        harness.option("--n", type=int, default=1000, help="situations"),
        harness.option("--verbose", "-v", action="store_true", help="print what breaks a law, and its words"),
        quick=f"{QUICK} situations",
    )
    n = min(run.n, QUICK) if run.quick else run.n
    with TemporaryDirectory() as folder:
        judged = ask(KindPanel(run.seed, run.asked), Path(folder), n=n, verbose=run.verbose)
    said = {law: [verdicts[law] for _, verdicts in judged] for law in (*LAWS, *PRICES)}
    laws = {
        law.replace(" ", "_"): [not one for one in found if one is not None] for law, found in said.items()
    }
    run.last_line(
        {
            "answered": harness.share([is_answered for is_answered, _ in judged]),
            "clean": harness.share(
                [not any(verdicts.values()) for is_answered, verdicts in judged if is_answered]
            ),
            **{f"held_{law}": harness.share(held) for law, held in laws.items()},
            **{f"n_{law}": len(held) for law, held in laws.items()},
        },
        n=len(judged),
    )


def ask(panel: KindPanel, folder: Path, *, n: int, verbose: bool = False) -> list[tuple[bool, Verdicts]]:
    """Ask n situations: whether each is answered by a plan, and what breaks the laws."""
    judged: list[tuple[bool, Verdicts]] = []
    with CommandLine(folder / "workspace", folder / "cache") as line:
        for situation in panel.draw(n):
            situation.write(folder)
            reply = Reply(situation, line.run(situation.argv("recommend", folder)))
            verdicts = {**judge_reply(reply), **judge_prices(reply, line, folder)}
            judged.append((reply.is_answered, verdicts))
            words = " ".join(situation.argv("recommend", Path("F")))
            for name, fault in verdicts.items():
                if fault and verbose:
                    print(f"{situation.number} {name}: {fault}: {words}")
    return judged


if __name__ == "__main__":
    main()
