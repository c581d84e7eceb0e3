"""The panel of kinds: questions that nobody wrote, judged by laws and by the engines' own parsers alone.

    python -m benchmarks.answers.kinds [--asked DIR]... [--n 1000] [--quick] [-v]

Situations are drawn by the seed from official recipes (those that ship, and those of the folders), the parsers of
released engines and the lists of the graph, by program, chip, phase, load and form of launch. Each is asked of
``recommend`` and, for the price, of ``predict``, ``estimate`` and ``size``; a law that does not apply is not counted. Shares are
of the answers that a law was judged on; ``answered`` is the share of plans among all questions, and ``clean`` that of
answered questions in which every law held. The last line is one JSON object.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import harness
from benchmarks.kinds.command_line import CommandLine
from benchmarks.kinds.laws import LAWS, judge_reply
from benchmarks.kinds.panel import KindPanel
from benchmarks.kinds.prices import PRICES, judge_prices
from benchmarks.kinds.replies import Reply
from benchmarks.kinds.situations import PanelSituation

QUICK = 100
SHOWN = 3
KINDS: dict[str, Callable[[PanelSituation], str]] = {
    "program": lambda item: item.program or "(not told)",
    "chip": lambda item: item.vendor,
    "phase": lambda item: item.phase,
    "form": lambda item: item.form.value,
    "load": lambda item: "told" if item.load else "silent",
    "origin": lambda item: item.origin,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSituation:
    """A question with what came of it.

    Attributes:
        situation: The question.
        code: Exit code.
        is_answered: Whether it is a plan.
        verdicts: What breaks each law; empty where it holds, None where it does not apply.
    """

    situation: PanelSituation
    code: int
    is_answered: bool
    verdicts: dict[str, str | None]

    @property
    def is_clean(self) -> bool:
        """True if no law is broken."""
        return not any(self.verdicts.values())


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
    show(judged)
    laws = by_law(judged)
    run.last_line(
        {
            "answered": harness.share([item.is_answered for item in judged]),
            "clean": harness.share([item.is_clean for item in judged if item.is_answered]),
            **{f"held_{name.replace(' ', '_')}": held for name, (held, _, _) in laws.items()},
            **{f"n_{name.replace(' ', '_')}": count for name, (_, count, _) in laws.items()},
        },
        n=len(judged),
    )


def ask(panel: KindPanel, folder: Path, *, n: int, verbose: bool = False) -> list[JudgedSituation]:
    """Ask n situations and judge each answer."""
    judged: list[JudgedSituation] = []
    with CommandLine(folder / "workspace", folder / "cache") as line:
        for situation in panel.draw(n):
            situation.write(folder)
            reply = Reply(situation, line.run(situation.argv("recommend", folder)))
            verdicts = {**judge_reply(reply), **judge_prices(reply, line, folder)}
            judged.append(
                JudgedSituation(
                    situation=situation,
                    code=reply.result.code,
                    is_answered=reply.is_answered,
                    verdicts=verdicts,
                )
            )
            if verbose:
                for name, fault in verdicts.items():
                    if fault:
                        words = " ".join(situation.argv("recommend", Path("F")))
                        print(f"{situation.number} {name}: {fault}: {words}")
    return judged


def by_law(judged: Sequence[JudgedSituation]) -> dict[str, tuple[float | None, int, list[JudgedSituation]]]:
    """Share in which each law holds, on how many it was judged, and those that break it."""
    found: dict[str, tuple[float | None, int, list[JudgedSituation]]] = {}
    for name in (*LAWS, *PRICES):
        said = [item for item in judged if item.verdicts[name] is not None]
        broken = [item for item in said if item.verdicts[name]]
        found[name] = (harness.share([not item.verdicts[name] for item in said]), len(said), broken)
    return found


def show(judged: Sequence[JudgedSituation]) -> None:
    """Print shares by kind, shares by law, and examples of what breaks each."""
    for title, kind in KINDS.items():
        groups: dict[str, list[JudgedSituation]] = defaultdict(list)
        for item in judged:
            groups[kind(item.situation)].append(item)
        print(f"\n{title:18} {'n':>5} {'answered':>9} {'clean':>7}  exits")
        for name, items in sorted(groups.items(), key=lambda pair: -len(pair[1])):
            clean = harness.share([item.is_clean for item in items if item.is_answered])
            exits = ", ".join(
                f"{code}: {n}" for code, n in sorted(Counter(item.code for item in items).items())
            )
            answered = harness.share([item.is_answered for item in items])
            print(f"{name:18} {len(items):5} {_percent(answered):>9} {_percent(clean):>7}  {exits}")
    print(f"\n{'law':18} {'n':>5} {'held':>7}  broken by")
    for name, (held, n, broken) in by_law(judged).items():
        print(f"{name:18} {n:5} {_percent(held):>7}", *_examples(name, broken))


def _examples(name: str, broken: Sequence[JudgedSituation]) -> list[str]:
    """The commonest faults of a law, numbers taken out."""
    kinds = Counter(_plain(item.verdicts[name] or "") for item in broken)
    return ["; ".join(f"{text} ({n})" for text, n in kinds.most_common(SHOWN))]


def _plain(fault: str) -> str:
    return "".join("#" if letter.isdigit() else letter for letter in fault[:90])


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


if __name__ == "__main__":
    main()
