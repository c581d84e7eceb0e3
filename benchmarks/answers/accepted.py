"""Counts the launches that the engines' own parsers accept: official recipes, and starts of answers.

``python -m benchmarks.answers.accepted --asked DIR [--asked DIR ...]`` judges, by the facts of released programs
(``tools.oracle``), every recipe of ``recipes.jsonl`` as it was published, and the first start of the answer to its
situation, to every question of ``panel.jsonl``, and to every script of ``*/case.json``. A recipe is judged at the release it names, or at the nearest that
was read (counted apart); what it leaves out, such as the path of the model, is not asked of it. A start is judged as it
is printed. Nothing is fitted, so the hold-outs are the recipes themselves: a start may rest on the recipe it is asked
for. Programs without a parser that was read are counted as such.
"""

import contextlib
import json
import re
import shlex
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.kinds.command_line import CommandLine
from benchmarks.kinds.engine_law import pasted
from benchmarks.worlds.recipe_rows import question_of
from benchmarks.worlds.world import fresh_workspace
from cli.values import pairs
from kg.errors import TuningError
from kg.nouns.release import release_key
from kg.terms.setting_registry import registry, softwares
from recommender.workspace.workspace import Workspace
from tools.oracle.facts import Facts, facts
from tools.oracle.judge import judge

LAUNCHER = frozenset({"nproc-per-node", "nnodes", "node-rank", "master-addr", "master-port"})
"""Flags of torchrun, which recipes list beside those of the program that it starts."""
_CAPITALS = re.compile(r"'[A-Z][A-Z_]+'$")
FILES = frozenset({"json", "yaml", "override"})

TABLES = {
    "--shape": "shape",
    "--trait": "traits",
    "--bottleneck": "bottlenecks",
    "--current": "current",
    "--software": "software",
}


@dataclass(slots=True)
class Verdicts:
    """Verdicts on some launches.

    Attributes:
        accepted: Whether each was.
        kinds: Complaints by what they are about.
        examples: Complaints, each with how often.
        unjudged: Launches that no parser judges, by why.
    """

    accepted: list[bool] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    examples: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)

    def take(self, complaints: Sequence[str]) -> None:
        """Count one launch."""
        self.accepted.append(not complaints)
        self.kinds.update({kind_of(text) for text in complaints})
        self.examples.update(text[:150] for text in complaints)

    def to_json(self) -> dict[str, Any]:
        """The share and what was complained of, by launches."""
        return {
            "judged": len(self.accepted),
            "accepted": harness.mean(self.accepted),
            "complaints": dict(self.kinds.most_common()),
            "unjudged": dict(self.unjudged),
        }


def kind_of(complaint: str) -> str:
    """The kind of a complaint."""
    kinds = (
        "unrecognized arguments", "invalid choice", "expected", "conflicting settings", "unexpected keyword",
        "could not override", "could not append", "ambiguous option", "are required", "ignored explicit argument",
    )  # fmt: skip
    value = "invalid value" if "invalid" in complaint or "than" in complaint else "other"
    return next((kind for kind in kinds if kind in complaint), value)


def main() -> None:
    """Print the figures; the last line is JSON."""
    run = harness.read(
        __doc__,
        harness.place("--asked", action="append", help="folder with recipes.jsonl or panel.jsonl"),
        quick="judge the recipes alone, ask nothing",
    )
    recipes = [row for folder in run.asked for row in harness.json_rows(folder / "recipes.jsonl")]
    questions = [row for folder in run.asked for row in harness.json_rows(folder / "panel.jsonl")]
    scripts = [case for folder in run.asked for case in sorted(folder.glob("*/case.json"))]
    if not recipes and not questions and not scripts:
        harness.refuse(
            "no recipes.jsonl, panel.jsonl or */case.json is there: name the folders that hold them"
        )
    official = judge_recipes(recipes)
    figures: dict[str, Any] = {"recipes": official["all"].to_json()}
    figures["recipes_by_program"] = {name: item.to_json() for name, item in official.items() if name != "all"}
    if not run.quick:
        with fresh_workspace() as workspace:
            for name, asked in (
                ("starts_for_panel", [raw_question(row["question"]) for row in questions]),
                ("starts_for_recipes", [question_of(row) for row in recipes]),
            ):
                figures[name] = judge_starts(workspace, asked, name).to_json()
        figures["starts_for_scripts"] = judge_scripts(scripts).to_json()
    run.last_line(figures, n=len(recipes) + len(questions) + len(scripts))


def raw_question(question: dict[str, Any]) -> dict[str, object]:
    """A question of the file as the workspace reads one."""
    raw: dict[str, object] = {}
    tables: dict[str, list[str]] = defaultdict(list)
    words = list(question["args"])
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option in TABLES:
            tables[option].append(value)
        elif option == "--limit":
            raw.setdefault("limits", []).append(value)  # type: ignore[attr-defined]
        else:
            raw[option.removeprefix("--")] = int(value) if option == "--count" else value
    for name, value in (question.get("facts") or {}).items():
        tables["--trait"].append(f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    for option, values in tables.items():
        raw[TABLES[option]] = pairs(
            option, values, bare=option == "--bottleneck", as_text=option == "--software"
        )
    return raw


def judge_recipes(rows: Iterable[dict[str, Any]]) -> dict[str, Verdicts]:
    """Verdicts of parsers on published launches, by program and for all."""
    found: dict[str, Verdicts] = defaultdict(Verdicts)
    for row in rows:
        program = row["framework"]
        if program not in softwares():
            found["all"].unjudged[f"{program}: not read"] += 1
            continue
        releases, is_exact = _releases(program, str(row.get("framework_version") or ""))
        known = facts(program, releases[0])
        if not known.flags and not known.file:
            found["all"].unjudged[f"{program}: no command line"] += 1
            continue
        if not published(known, row["settings"])[0][known.positional :]:
            found["all"].unjudged[f"{program}: flags of a script of its own"] += 1
            continue
        said = [_said(program, releases[0], row["settings"])]
        said += (_said(program, release, row["settings"]) for release in releases[1:] if said[0])
        complaints = said[0] if all(said) else []
        for name in (
            "all",
            program,
            f"{program} at its own release" if is_exact else f"{program} at the nearest",
        ):
            found[name].take(complaints)
    _show(found["all"], "recipes")
    return found


def _said(program: str, release: str, settings: Sequence[dict[str, str]]) -> list[str]:
    argv, environment = published(facts(program, release), settings)
    return [text for text in judge(program, release, argv, environment) if "are required" not in text]


def published(known: Facts, settings: Sequence[dict[str, str]]) -> tuple[list[str], dict[str, str]]:
    """The settings of a recipe as argv and environment: switches without a value, JSON gathered by its flag."""
    argv: list[str] = ["MODEL"] * known.positional
    objects: dict[str, dict[str, Any]] = {}
    spellings = {
        name: entry for entry in known.flags.values() for name in (entry["key"], *entry.get("aliases", ()))
    }
    spellings |= {entry["off"]: {"type": "bool"} for entry in known.flags.values() if "off" in entry}
    plain = {name.replace("_", "-"): entry for name, entry in spellings.items()}
    for item in settings:
        place, key, value = item["where"], item["key"], str(item["value"])
        if key.startswith("accelerate.") or (place == "yaml" and not known.file):
            continue  # a file of another program, or one whose keys are no flags
        if place in FILES and known.file in {"json", "overrides"}:
            is_added = known.file == "overrides" and key not in known.fields and _is_below(known, key)
            argv.append(f"{'++' if is_added else ''}{key}={value}")  # recipes leave the sign out
        elif place == "json" or (known.file == "yaml" and "." in key):
            carrier, _, path = key.partition(".")
            _put(objects.setdefault(f"--{carrier.lstrip('-').replace('_', '-')}", {}), path, value)
        elif place in {"flag", "yaml"} and known.file not in {"json", "overrides"}:
            flag = key if key.startswith("-") else f"--{key}"
            entry = spellings.get(flag) or plain.get(flag.replace("_", "-")) or {}
            is_bare = not entry or entry.get("type") == "bool" or entry.get("nargs") == 0
            is_switch = value.lower() in {"true", ""} and is_bare
            if flag not in spellings and flag.lstrip("-").replace("_", "-") in LAUNCHER:
                continue
            words = shlex.split(value) if entry.get("type") == "list" else [value]
            argv += [flag, *([] if is_switch and entry.get("nargs", "?") in {"?", 0} else words)]
    argv += [word for flag, content in objects.items() for word in (flag, json.dumps(content))]
    return argv, {item["key"]: str(item["value"]) for item in settings if item["where"] == "env"}


def judge_starts(workspace: Workspace, asked: Iterable[dict[str, Any]], name: str) -> Verdicts:
    """Verdicts of parsers on the starts of answers, as they are printed."""
    found = Verdicts()
    for raw in asked:
        try:
            problem, _ = workspace.ask.questions.problem(raw)
            plan = workspace.ask.recommend(problem).plan
        except TuningError as error:
            found.unjudged[f"refused: {type(error).__name__}"] += 1
            continue
        start = plan.start if plan is not None else None
        if start is None or start.layout is None:
            found.unjudged["no start" if start is None else "a kernel"] += 1
        else:
            _judge_start(found, start.framework, start.version, start.paste_lines)
    _show(found, name)
    return found


def judge_scripts(cases: Iterable[Path]) -> Verdicts:
    """Verdicts of parsers on the starts of answers to launch scripts, as they are printed."""
    found = Verdicts()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        with CommandLine(workspace / "w", workspace / "cache", budget_s=60) as line:
            for case in cases:
                words = json.loads(case.read_text(encoding="utf-8"))["args"]
                if "--from-command" not in words:
                    found.unjudged["no script"] += 1
                    continue
                words = words[: words.index("--write")] if "--write" in words else words
                with contextlib.chdir(case.parent):
                    result = line.run([*words, "--json"])
                start = (json.loads(result.out) if result.code in {0, 4} and result.out else {}).get("start")
                if not start or not start.get("paste"):
                    found.unjudged[f"exit {result.code}"] += 1
                    continue
                _judge_start(found, start["framework"], start["version"], start["paste"])
    _show(found, "starts_for_scripts")
    return found


def _judge_start(found: Verdicts, program: str, version: str, lines: Sequence[str]) -> None:
    """Count a start as its own release reads it."""
    if program not in softwares():
        found.unjudged["not read"] += 1
        return
    [release, *_], _ = _releases(program, version)
    if not facts(program, release).flags:
        found.unjudged[f"{program}: no command line"] += 1
        return
    argv, environment = pasted(lines)
    complaints = judge(program, release, argv, environment)
    whole = argv[:2] == ["vllm", "serve"] or argv[:2] == ["python", "-m"]
    found.take([text for text in complaints if not _is_for_the_user(text, whole=whole)])


def _show(found: Verdicts, name: str) -> None:
    print(name)
    for text, count in found.examples.most_common():
        print(f"  {count} x {text}")


def _releases(program: str, text: str) -> tuple[list[str], bool]:
    """The releases that a text names, ``>=`` all from there on, and whether they were read; else the nearest."""
    word = text.rpartition(">=")[2].partition(";")[0].strip().removeprefix("v")
    known = registry(program)
    try:
        release = known.at(word).release
    except TuningError:
        return [known.releases[-1]], False
    commit = word.partition("@")[2]
    same = known.refs[release].startswith(commit) if commit else release_key(release) == release_key(word)
    return list(known.releases[known.releases.index(release) :]) if ">=" in text else [release], same


def _is_for_the_user(complaint: str, *, whole: bool) -> bool:
    """True if a start leaves the missing part to its user: a word in capitals, flags of the script."""
    if "are required" in complaint or _CAPITALS.search(complaint):
        return True
    return (
        not whole and complaint.startswith("conflicting") and ("unset" in complaint or "not --" in complaint)
    )


def _is_below(known: Facts, key: str) -> bool:
    """True if a path lies in a section that the configuration has, where a key can be added."""
    section = key.partition(".")[0] + "."
    return any(path.startswith(section) for path in known.fields)


def _put(content: dict[str, Any], path: str, value: str) -> None:
    *above, last = path.split(".")
    for part in above:
        content = content.setdefault(part, {})
    try:
        content[last] = json.loads(value)
    except ValueError:
        content[last] = value


if __name__ == "__main__":
    main()
