"""Recipes from checkouts of the projects that publish them, as recipe JSONL for ``tools.ship_recipes``.

    python -m tools.read_recipes CHECKOUT.. --out FILE [--repository OWNER/NAME] [--any-commit] [--most N]

A checkout is a clone, bare or not; its repository is that of ``origin`` or of its folder's name, its commit
that of HEAD. What is read of it, and its licence, are in ``recipe_places.yaml``. A launch becomes a recipe by
the launch readers of the product; what names no model, or has sizes that do not multiply, is counted and left
out, and so is a repository whose licence forbids it. No measured figure is read.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import translate
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from benchmarks.harness import option, parse
from benchmarks.worlds.shipped import ShippedKnowledge
from ingest.door.records import RecordError, Records
from ingest.formats.recipes.recipe_commands import PLACES, TRAINERS, layout_of
from ingest.formats.recipes.recipe_records import recipe
from ingest.questions.launches.launch import Launch, LaunchForm, read_launches
from ingest.questions.launches.running import RunningSetting, running_settings
from ingest.questions.launches.script import readable
from ingest.questions.launches.variables import NOT_TUNED_ENVIRONMENT
from kg.errors import TuningError
from kg.nouns.recipe import devices_of
from kg.nouns.setting import SettingPlace
from kg.terms.dialects import statement
from kg.terms.meanings import meaning_of, variant_of
from kg.terms.purposes import Purpose, plain_key, purpose
from kg.terms.setting_registry import registry, softwares
from recommender.ranking.starts.flags.layout_flags import FIELDED
from tools.recipe_documents import Document, Published
from tools.recipe_forms import FORMS

TABLE = Path(__file__).with_name("recipe_places.yaml")
MOST_BYTES, MOST_LETTERS = 1 << 20, 400
"""Largest file that is read, and longest value that is kept."""
_SOMEWHERE = re.compile(
    r"^[~./]|\b\d{1,3}(?:\.\d{1,3}){3}\b|://|^\$|/(data|mnt|home|workspace|path)/|\.(jsonl?|parquet|py|txt)$"
)
_ABSENT = re.compile(
    r"^<|^[0-9a-f]{40}$|your|\$|\0|path[_/-]?to|^(model|weights|bench)$|ckpt|checkpoint", re.IGNORECASE
)
_QUANTISED = re.compile(r"(?:amd/)?(.+)-FP8-KV")
"""A model as AMD quantises it, and the model that it is of."""
_BUILDER = re.compile(r"\.(?:q?lora_|dora_)?(\w+)$")
"""Function that makes a model in torchtune, by the name of which it is known."""


class Checkout:
    """A clone, read at its HEAD.

    Args:
        path: Folder of the clone.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.commit = self._git("rev-parse", "HEAD").strip()
        rows = (row.split("\t", 1) for row in self._git("ls-tree", "-r", "HEAD").splitlines())
        self.objects = {name: meta.split()[2] for meta, name in rows if meta.split()[1] == "blob"}

    def repository(self) -> str:
        """Owner and name of the repository that it is a clone of."""
        try:
            address = self._git("remote", "get-url", "origin").strip()
        except SystemExit:
            address = ""
        found = re.search(r"[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$", address)
        name = self._path.parent.name if self._path.name in {"repo", ".git"} else self._path.name
        return found[1] if found and "://" in address else name.replace("+", "/", 1)

    def read(self, path: str) -> str | None:
        """The text of a file; None where it is not there, or no text of a file of settings."""
        if path not in self.objects:
            return None
        done = subprocess.run(
            ["git", "-C", str(self._path), "cat-file", "blob", self.objects[path]],
            capture_output=True,
            check=False,
        )
        return (
            None if done.returncode or len(done.stdout) > MOST_BYTES else done.stdout.decode(errors="replace")
        )

    def _git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self._path), *words], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(
                f"{self._path}: {done.stderr.strip().splitlines()[-1]}: give the folder of a clone"
            )
        return done.stdout


def recipes(
    checkout: Checkout, repository: str, row: Mapping[str, Any], records: Records, left: Counter[str]
) -> Iterator[dict[str, Any]]:
    """The recipes of a checkout, as records.

    Args:
        checkout: What is read.
        repository: Owner and name.
        row: Of the table.
        records: The door that each must pass.
        left: Counts what is left out, by reason.
    """
    for place in row["places"]:
        patterns = [re.compile(translate(one.replace("**/", "*"))) for one in place["paths"]]
        without = re.compile(place.get("without", r"(?!)"))
        named = (name for name in checkout.objects if any(p.fullmatch(name) for p in patterns))
        for path in sorted(name for name in named if not without.search(name)):
            if (text := checkout.read(path)) is None:
                left["not there, or too large"] += 1
                continue
            try:
                found = list(
                    FORMS[place["form"]](Document(path=path, text=text, place=place, read=checkout.read))
                )
            except (yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError, SyntaxError) as fault:
                left[f"{path}: not of the form {place['form']}: {fault!r}"[:160]] += 1
                continue
            for published in found:
                for draft in _drafts(published, path, place, checkout, records, left):
                    draft |= {
                        "source": f"https://github.com/{repository}/blob/{checkout.commit}/{path}#L{published.line}",
                        "authority": place["authority"],
                        "licence": row["licence"],
                    }
                    draft["version"] = draft["version"] or f"main@{checkout.commit[:12]}"
                    try:
                        recipe(draft, records)
                    except RecordError as fault:
                        left[str(fault)[:90]] += 1
                        continue
                    yield draft


def _at_most(most: int, drafts: Iterator[dict[str, Any]], left: Counter[str]) -> Iterator[dict[str, Any]]:
    """The first few of a document for one model and chip: what varies beyond is seldom the layout."""
    seen: Counter[tuple[str, ...]] = Counter()
    for draft in drafts:
        key = draft["source"].partition("#")[0], draft["model"], draft["hardware"], draft["role"]
        seen[key] += 1
        if seen[key] <= most:
            yield draft
        else:
            left[f"beyond {most} of one document, model and chip"] += 1


_TRAINS_NOTHING = frozenset({"infer_backend", "export_dir"})
"""Settings by which LLaMA-Factory answers or writes weights (``llamafactory-cli chat``, ``export``)."""


def _drafts(
    published: Published,
    path: str,
    place: Mapping[str, Any],
    checkout: Checkout,
    records: Records,
    left: Counter[str],
) -> Iterator[dict[str, Any]]:
    def beside(name: str) -> str | None:
        inner = str(PurePosixPath(path).parent / name)
        return published.files.get(name) or checkout.read(inner) or checkout.read(name)

    try:
        launches = read_launches(published.text, path, beside)
    except TuningError as fault:
        left[f"no launch that is known: {str(fault).partition(': ')[2][:50]}"] += 1
        return
    for number, launch in enumerate(launches, 1):
        program = launch.started.signs.id
        framework = place.get("as", {}).get(program, program)
        if place.get("software") and framework not in place["software"]:
            continue
        settings = running_settings(published.text, beside=beside, server=number)
        if framework in TRAINERS and _TRAINS_NOTHING & {one.key.lstrip("-") for one in settings}:
            left["a trainer's file that trains nothing"] += 1
            continue
        draft = _draft(launch, _own(settings, program, place), framework, published, path, place)
        draft["model"] = draft["model"] or _named_by(path, records)
        if records.model(draft["model"]) is None and (found := _QUANTISED.fullmatch(draft["model"])):
            draft |= {"reported_model": draft["model"], "model": found[1], "precision": "fp8"}
        if not draft["model"]:
            left["the model is not told"] += 1
        elif draft["hardware"] and not records.hardware(draft["hardware"])[1]:
            left[f"hardware {draft['hardware']} is not in the knowledge"] += 1
        elif not any(purpose(one["key"]) is Purpose.TUNING for one in draft["settings"]):
            left["sets nothing but sizes"] += 1
        else:
            yield draft


def _own(settings: Sequence[RunningSetting], program: str, place: Mapping[str, Any]) -> list[RunningSetting]:
    """The settings under the program's own names; where the place says so, only those that it has."""
    if program not in softwares():
        return list(settings)
    release, own = registry(program).at(""), []
    for one in settings:
        stem, dot, rest = one.key.partition(".")
        short = "-" * one.key.startswith("-") + stem if one.key.startswith("-") else f"-{stem}"
        found = release.look_up(one.key, one.place, suggest=False).setting
        meaning = meaning_of(one.key, program) if found is None else None
        if one.place is SettingPlace.ENV:
            own.append(one)
        elif len(stem) < 4 and (full := release.look_up(short, SettingPlace.FLAG, suggest=False).setting):
            key = f"{plain_key(full.key)}.{rest}" if dot else full.key
            own.append(replace(one, key=key))
        elif meaning is not None:
            own.append(replace(one, key=meaning.key))
        elif found is not None or not place.get("known"):
            own.append(one)
    return own


def _named_by(path: str, records: Records) -> str:
    """The longest run of words of a path that is the name of a known model; empty if none is."""
    words = re.split(r"[_/]|\.(?=[a-z]+$)", path)
    runs = [
        "-".join(words[at:end])
        for at in range(len(words))
        for end in range(at + 1, min(at + 6, len(words) + 1))
    ]
    named = [run for run in runs if re.search(r"[a-z].*\d", run, re.IGNORECASE) and len(run) > 4]
    return next((run for run in sorted(named, key=len, reverse=True) if records.model(run) is not None), "")


def _draft(
    launch: Launch,
    running: list[RunningSetting],
    framework: str,
    published: Published,
    path: str,
    place: Mapping[str, Any],
) -> dict[str, Any]:
    """A recipe but for its source."""
    question, said = launch.facts.question, published.said
    model = _model(question, running, said)
    hardware = (
        said.get("hardware")
        or _chip(f"{published.near} {path} {published.title}")
        or place.get("hardware", "")
        or said.get("vendor", "")
    )
    if hardware.startswith("ascend") and framework == "vllm":
        framework = "vllm-ascend"
    if hardware.startswith("gaudi") and framework == "vllm":
        framework = "vllm-gaudi"
    settings = [
        {"where": one.place.value, "key": one.key, "value": one.value}
        for one in running
        if one.is_known and one.value and _is_kept(one)
    ]
    if launch.form is LaunchForm.MANIFEST:  # its variables come in no order
        settings.sort(key=lambda one: one["key"] if one["where"] == SettingPlace.ENV else "~")
    if framework == "tensorrt-llm":  # its files have underscores, and so have its flags
        settings = [
            one | {"where": SettingPlace.YAML.value, "key": plain_key(one["key"])}
            if one["where"] == SettingPlace.FLAG and "_" not in one["key"]
            else one
            for one in settings
        ]
    flags = {one["key"]: one["value"] for one in settings if one["where"] != SettingPlace.ENV}
    framework = variant_of(framework, flags)
    stated = question.get("count")
    devices = said.get("devices") or (stated if isinstance(stated, int) else None) or place.get("devices")
    is_split = launch.started.signs.reader in {"server", "megatron"} or framework in FIELDED
    trained = devices if framework in TRAINERS | FIELDED else None
    layout = layout_of(framework, flags, trained) if is_split else {}
    if launch.started.signs.reader == "server":
        devices = devices_of(layout) * said.get("instances", 1)
    if not said.get("sized", True):
        layout = {}
        settings = [one for one in settings if purpose(one["key"]) is not Purpose.LAYOUT]
    shape = question.get("shape")
    context = {**(shape if isinstance(shape, dict) else {}), **said.get("context", {})}
    batch = statement(flags, framework).facts.get("global_batch")
    if isinstance(batch, int) and not isinstance(batch, bool):
        context["global_batch"] = batch
    role = said.get("role") or launch.role or place.get("role") or "serve"
    if framework in TRAINERS and {"--finetune", "--stage"} & set(flags):
        role = "finetune"
    software = question.get("software")
    release = next(iter(software.values()), "") if isinstance(software, dict) else ""
    return {
        "role": role,
        "model": model,
        "framework": framework,
        "version": said.get("version") or release,
        "hardware": hardware,
        "devices": devices,
        "instances": said.get("instances", 1),
        "context": context,
        "precision": said.get("precision") or "",
        "layout": layout,
        "settings": settings,
        "title": published.title[:120],
    }


def _model(question: Mapping[str, Any], running: list[RunningSetting], said: Mapping[str, Any]) -> str:
    built = next((one.value for one in running if one.key == "model._component_"), "")
    if built and (found := _BUILDER.search(built)) is not None:
        return found[1].replace("_", "-")
    text = str(said.get("model") or question.get("model") or "")
    text = readable(text).rstrip("/") if "\0" not in text else ""
    if text.startswith(("/", "~", ".")) or text.count("/") > 1:
        text = text.rpartition("/")[2]
    return "" if not text or _ABSENT.search(text) or text.isdigit() else text


def _is_kept(one: RunningSetting) -> bool:
    """True if it is a setting of the program, and not a place or a person's."""
    if one.place is SettingPlace.ENV:
        if purpose(one.key) is Purpose.SITE:
            return False
        return NOT_TUNED_ENVIRONMENT.search(one.key) is None and _SOMEWHERE.search(one.value) is None
    if one.key.lstrip("-") in PLACES or _SOMEWHERE.search(one.value):
        return False
    meaning = meaning_of(one.key)
    if meaning is not None and meaning.fact == "max_len":  # of whoever asks
        return False
    return purpose(one.key) not in {Purpose.SITE, Purpose.TRAINING} and len(one.value) < MOST_LETTERS


def _chip(text: str) -> str:
    return next((chip for chip, pattern in _chips() if pattern.search(text)), "")


@cache
def _chips() -> tuple[tuple[str, re.Pattern[str]], ...]:
    rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))["chips"]
    return tuple((chip, re.compile(pattern, re.IGNORECASE)) for chip, pattern in rows)


def main() -> None:
    """Write the recipes of the checkouts, and print what was left out."""
    given = parse(
        __doc__,
        option("checkouts", nargs="+", type=Path),
        option("--out", type=Path, required=True),
        option("--repository", default="", help="where the clone does not say it"),
        option("--most", type=int, default=3, help="recipes of one document, model, chip and role"),
        option("--any-commit", action="store_true", help="read another commit than the table's"),
    )
    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))["repositories"]
    records = Records(ShippedKnowledge.load().names)
    lines: list[str] = []
    for path in given.checkouts:
        checkout = Checkout(path)
        repository = given.repository or checkout.repository()
        if (row := table.get(repository)) is None:
            raise SystemExit(f"{path}: {repository} is not in {TABLE.name}; --repository names another")
        if row.get("forbids"):
            print(f"{repository}: left out: {row['forbids']}", file=sys.stderr)
            continue
        if row.get("commit", checkout.commit) != checkout.commit and not given.any_commit:
            raise SystemExit(
                f"{path}: {repository} is read at {row['commit'][:12]}, and this is {checkout.commit[:12]}; "
                "check that out, or give --any-commit"
            )
        left: Counter[str] = Counter()
        found = list(_at_most(given.most, recipes(checkout, repository, row, records, left), left))
        lines += [json.dumps(one, ensure_ascii=False) for one in found]
        print(f"{repository}: {len(found)} recipes, {sum(left.values())} left out")
        for reason, count in left.most_common(12):
            print(f"  {count:5} {reason}", file=sys.stderr)
    given.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
