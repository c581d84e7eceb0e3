"""The laws of answers over situations that nobody wrote: told wins (1, 4, 7), unread facts (2), one price (3),
memory (6), no word of memory without a model (8), spellings of parsers (11).

The situations are those of the panel of kinds: ``benchmarks/kinds``. A few are asked in every run, 2,000 with the long
tests.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kinds.command_line import CommandLine
from benchmarks.kinds.engine_law import pasted
from benchmarks.kinds.laws import LAWS
from benchmarks.kinds.panel import KindPanel
from benchmarks.kinds.prices import PRICES, judge_prices
from benchmarks.kinds.replies import Reply
from benchmarks.kinds.situations import LaunchForm, PanelSituation
from benchmarks.kinds.sources import EngineParsers
from ingest.questions.launches.launch import read_launches
from ingest.questions.problem_file import read_problem_file
from kg.terms.dialects import statement
from kg.terms.meanings import long_names
from recommender.ranking.paste import ENGINES
from recommender.workspace.workspace import Workspace

SEED = 202648
FEW, MANY = 28, 2000
SHOWN = 12
BIGGER = (
    ("a100-pcie-40gb", "a100-pcie-80gb"),
    ("a100-sxm4-40gb", "a100-sxm4-80gb"),
    ("tesla-v100-sxm2-16gb", "tesla-v100-sxm2-32gb"),
    ("gh200-96gb", "gh200-144gb"),
    ("ascend-910b4", "ascend-910b4-1"),
)
"""Parts that differ in the size of their memory, as their data sheets say."""
SIZED = ("qwen3-8b", "qwen3-32b", "mixtral-8x7b", "llama-3-70b", "qwen3-235b-a22b")


class AskedPanel:
    """Situations of the panel with their answers, each asked once.

    Args:
        line: The command line.
        folder: Where texts of questions lie.
    """

    def __init__(self, line: CommandLine, folder: Path) -> None:
        self.line = line
        self._folder = folder
        self._panel = KindPanel(SEED)
        self._replies: dict[int, Reply] = {}
        self._prices: dict[int, dict[str, str | None]] = {}

    def replies(self, n: int) -> Iterator[Reply]:
        """The first n."""
        for number in range(n):
            if number not in self._replies:
                self._replies[number] = self.ask(self._panel.situation(number))
            yield self._replies[number]

    def ask(self, situation: PanelSituation, *more: str, command: str = "recommend") -> Reply:
        """One answer; ``more`` are words to add."""
        situation.write(self._folder)
        return Reply(situation, self.line.run(situation.argv(command, self._folder, *more)))

    def prices(self, reply: Reply) -> dict[str, str | None]:
        """Faults in the price of a plan beside other commands' prices."""
        number = reply.situation.number
        if self._replies.get(number) is not reply:
            return judge_prices(reply, self.line, self._folder)
        if number not in self._prices:
            self._prices[number] = judge_prices(reply, self.line, self._folder)
        return self._prices[number]


@pytest.fixture(scope="module")
def asked(shipped_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AskedPanel]:
    with CommandLine(shipped_path, shipped_path.parent / "cache") as line:
        yield AskedPanel(line, tmp_path_factory.mktemp("texts"))


def sizes(*, few: int = FEW, many: int = MANY) -> pytest.MarkDecorator:
    """A few situations always, many with the long tests."""
    return pytest.mark.parametrize("n", [few, pytest.param(many, marks=pytest.mark.long)])


def none_breaks(law: str, faults: Iterable[tuple[Reply, str | None]], *, least: int) -> None:
    """Fail with the first situations that break a law, and where it was judged on too few."""
    judged = [(reply, fault) for reply, fault in faults if fault is not None]
    broken = [
        f"{reply.situation.number} ({reply.situation.form}) {fault}: "
        + " ".join(reply.situation.argv("recommend", Path("FOLDER")))
        for reply, fault in judged
        if fault
    ]
    assert not broken, f"{law}: {len(broken)} of {len(judged)} break it:\n" + "\n".join(broken[:SHOWN])
    assert len(judged) >= least, f"{law} was judged on {len(judged)}"


LEAST = {
    "exit": 1.0,
    "time": 1.0,
    "software": 0.4,
    "devices": 0.4,
    "weights": 0.2,
    "engine": 0.2,
    "precision": 0.1,
}


@pytest.mark.parametrize("law", sorted(LAWS))
@sizes()
def test_laws_of_one_answer(asked: AskedPanel, law: str, n: int) -> None:
    none_breaks(
        law, ((reply, LAWS[law](reply)) for reply in asked.replies(n)), least=int(LEAST.get(law, 0) * n)
    )


def in_short(content: dict[str, Any]) -> dict[str, Any]:
    """An answer without the parts that name the question: ids, the question itself, notes and origins."""
    parts = (
        "start",
        "alternatives",
        "changes",
        "further",
        "not_here",
        "findings",
        "abstained",
        "together",
        "refused",
    )
    return {name: without_ids(content.get(name)) for name in parts}


def without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_ids(item) for name, item in value.items() if name != "id"}
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{12}", value):
        return ""
    return [without_ids(item) for item in value] if isinstance(value, list) else value


@sizes(few=20, many=500)
def test_a_fact_that_nothing_reads_leaves_the_answer(asked: AskedPanel, n: int) -> None:
    faults: list[tuple[Reply, str | None]] = []
    for reply in asked.replies(n):
        if not reply.is_answered:
            continue
        option = "--shape" if reply.situation.number % 2 else "--trait"
        other = asked.ask(reply.situation, option, "colour_of_the_rack=17")
        same = json.dumps(in_short(dict(reply.content))) == json.dumps(in_short(dict(other.content)))
        said = any("colour_of_the_rack" in note for note in other.content.get("notes", ()))
        faults.append((reply, "" if same and said else "it changed the answer" if said else "it is not said"))
    none_breaks("unread facts", faults, least=n // 3)


@sizes(few=20, many=500)
def test_the_facts_that_an_answer_lists_as_read_are_the_ones_that_decide(asked: AskedPanel, n: int) -> None:
    """No stated fact is missing from the facts that an answer lists."""
    faults: list[tuple[Reply, str | None]] = []
    for reply in asked.replies(n):
        listed = reply.content.get("situation")
        if not reply.is_answered or not isinstance(listed, dict):
            continue
        told = {f"shape.{name}" for name in reply.situation.load if name.endswith("_len")}
        told |= {f"traits.{name}" for name in reply.situation.load if not name.endswith("_len")}
        missing = sorted(told - set(listed))
        faults.append((reply, f"{', '.join(missing)} told and not listed" if missing else ""))
    none_breaks("facts with origins", faults, least=0)


@pytest.mark.parametrize("law", PRICES)
@sizes(few=24, many=600)
def test_one_situation_has_one_price(asked: AskedPanel, law: str, n: int) -> None:
    least = 0 if law == "price of size" else n // 6  # which lists what no other beats
    none_breaks(law, ((reply, asked.prices(reply)[law]) for reply in asked.replies(n)), least=least)


def test_size_has_the_price_of_the_plan(asked: AskedPanel) -> None:
    situations = [
        PanelSituation(
            number=number, origin="drawn", program="", is_known=True, release="", model=model, hardware="ascend-910b3",
            count=count, phase="serving", load={"input_len": 1024, "output_len": 512, "concurrency": 48},
        )
        for number, (model, count) in enumerate([("qwen3-8b", 1), ("qwen3-14b", 2), ("qwen3-32b", 4)])
    ]  # fmt: skip
    replies = [asked.ask(situation) for situation in situations]
    none_breaks("price of size", ((one, asked.prices(one)["price of size"]) for one in replies), least=2)


@sizes(few=24, many=600)
def test_more_devices_never_make_it_unfit(asked: AskedPanel, n: int) -> None:
    faults: list[tuple[Reply, str | None]] = []
    for reply in asked.replies(n):
        situation = reply.situation
        if (
            not reply.is_answered
            or situation.layout
            or situation.form not in {LaunchForm.NONE, LaunchForm.FILE}
        ):
            continue
        if situation.form is LaunchForm.FILE:
            more = asked.ask(situation, "--count", str(3 * situation.count))
        else:
            more = asked.ask(situation.with_count(3 * situation.count))
        faults.append(
            (reply, f"{3 * situation.count} devices do not fit it" if more.result.code == 4 else "")
        )
    none_breaks("more devices", faults, least=n // 8)


@sizes(few=24, many=600)
def test_the_smallest_layout_that_is_named_fits(asked: AskedPanel, n: int) -> None:
    faults: list[tuple[Reply, str | None]] = []
    for reply in asked.replies(n):
        layout = reply.start.get("layout") or {}
        if reply.result.code != 4 or not layout.get("devices") or reply.situation.layout:
            continue
        other = asked.ask(reply.situation, "--count", str(layout["devices"]))
        faults.append(
            (
                reply,
                "" if other.result.code == 0 else f"{layout['devices']} devices end with {other.result.code}",
            )
        )
    none_breaks("smallest layout", faults, least=0)


@pytest.mark.parametrize(
    ("small", "large", "model", "phase"),
    [
        pytest.param(
            *pair, model, phase, marks=() if place == number > 1 and place % 2 == turn else pytest.mark.long
        )
        for place, pair in enumerate(BIGGER)
        for number, model in enumerate(SIZED)
        for turn, phase in enumerate(("serving", "training"))
    ],
)
def test_more_memory_never_makes_it_unfit(
    asked: AskedPanel, small: str, large: str, model: str, phase: str
) -> None:
    for count in (1, 2, 8):
        words = [
            "recommend",
            "--model",
            model,
            "--phase",
            phase,
            "--count",
            str(count),
            "--json",
            "--hardware",
        ]
        codes = [asked.line.run([*words, hardware]).code for hardware in (small, large)]
        assert codes[0] in {0, 4}
        assert codes[1] == 0 or codes[0] == 4, (count, codes)


def one_start(asked: AskedPanel, reply: Reply, folder: Path) -> str:
    """In which other form an answer has another start than its JSON (law 5); empty where in none."""
    argv = [word for word in reply.situation.argv("recommend", folder) if word != "--json"]
    screen = _plain(asked.line.run(argv).out)
    if any(_plain(line.removesuffix("\\")) not in screen for line in reply.start.get("paste") or ()):
        return "screen: another start"
    form = next((form for form, names in ENGINES.items() if reply.start.get("framework") in names), "")
    if not form or form == "mindie":
        return ""  # fields of a file, which no shell takes
    words, environment = pasted(reply.start.get("paste") or ())
    formed = pasted(asked.line.run([*argv, "--format", form]).out.splitlines())
    if formed != (words, environment):
        return f"--format {form}: another start"
    if reply.situation.form is LaunchForm.FILE:
        raw = read_problem_file(next(iter(folder / name for name in reply.situation.files)))
        workspace = asked.line.workspace
        plan = workspace.recommend(*_problem(workspace, raw, reply)).plan
        if plan is None or pasted(plan.start.paste_lines) != (words, environment):
            return "library: another start"
    return _written(asked, reply, argv, folder, words, environment)


def _plain(text: str) -> str:
    """A text without its line ends and the signs that go with them."""
    return " ".join(text.replace("\\\n", " ").split())


def _problem(workspace: Workspace, raw: dict[str, Any], reply: Reply) -> tuple[Any, int]:
    """The problem of a file with what the command line tells beside it."""
    load = reply.situation.load
    lengths = {name: size for name, size in load.items() if name.endswith("_len")}
    raw["shape"] = {**(raw.get("shape") or {}), **lengths}
    if "concurrency" in load:
        raw["traits"] = {**(raw.get("traits") or {}), "concurrency": load["concurrency"]}
    if reply.situation.precision:
        raw["precision"] = reply.situation.precision
    return workspace.problem(raw)[0], 5


def _written(
    asked: AskedPanel,
    reply: Reply,
    argv: list[str],
    folder: Path,
    words: list[str],
    environment: dict[str, str],
) -> str:
    """Parts of the start that ``--write`` leaves out without saying so."""
    target = folder / "tuned.sh"
    target.unlink(missing_ok=True)
    result = asked.line.run([*argv, "--write", str(target)])
    if result.code or not target.exists():
        return "" if result.code in {2, 3, 4} and result.err else f"--write ends with {result.code}"
    text, said = target.read_text(), " ".join(result.err.split())
    changes = [item for change in reply.content["changes"] for item in change["settings"]]
    changed = {item["key"].partition(".")[0].lstrip("-").replace("-", "_") for item in changes}
    launches = read_launches(text, "")
    held = [word for one in launches[:1] for word in one.started.words] or pasted(text.splitlines())[0]
    variables = launches[0].variables if launches else pasted(text.splitlines())[1]
    for flag in [word for word in words if word.startswith("--") and "=" not in word]:
        name = flag.lstrip("-").replace("-", "_")
        there = {word.partition("=")[0].lstrip("-").replace("-", "_") for word in held}
        known = {name, long_names("vllm").get(name, name)}
        aliases = {
            short
            for program in ("vllm", "sglang")
            for short, long in long_names(program).items()
            if long == name
        }
        if not (known | aliases) & there and name not in changed and not re.search(rf"{flag}[ :]", said):
            return f"--write: {flag} is neither written nor said"
    missing = [
        name for name in environment if name not in variables and name not in said and name not in changed
    ]
    return f"--write: {missing} are neither written nor said" if missing else ""


@sizes(few=12, many=400)
def test_every_form_of_an_answer_holds_one_start(asked: AskedPanel, tmp_path: Path, n: int) -> None:
    faults: list[tuple[Reply, str | None]] = []
    for reply in asked.replies(n):
        if reply.is_answered:
            reply.situation.write(tmp_path)
            faults.append((reply, one_start(asked, reply, tmp_path)))
    none_breaks("one start", faults, least=n // 3)


PARSERS = EngineParsers()
ALIASES = [
    (program, item.spellings[0], other)
    for program in PARSERS.programs
    for release in PARSERS.releases(program)[-1:]
    for item in PARSERS.settings(program, release)
    if item.place == "flag"
    for other in item.spellings[1:]
]


def test_every_alias_of_a_parser_states_the_same_fact() -> None:
    assert len(ALIASES) > 100
    wrong = Counter[str]()
    for program, first, other in ALIASES:
        for spelling in {other, other.lstrip("-"), other.lstrip("-").replace("-", "_")}:
            one, two = (statement({name: 4}, program).facts for name in (first, spelling))
            if spelling.startswith("-") or len(spelling) > 3:  # a letter or two mean nothing without dashes
                wrong[f"{program} {first} {spelling}: {one} {two}"] += one != two
    broken = [text for text, n in wrong.items() if n]
    assert not broken, "\n".join(broken[:SHOWN])
