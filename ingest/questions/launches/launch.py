"""Launches as questions: a command, a script, a manifest, a program in Python, or a server's own log."""

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import PurePosixPath

from ingest.files.content import ContentError
from ingest.questions.launches import megatron, mindformers, serving, trainers
from ingest.questions.launches.configurations import configuration_command, ray_commands, with_itself
from ingest.questions.launches.engine_calls import engine_calls, logged_arguments, with_called
from ingest.questions.launches.launch_facts import NOT_READ, LaunchFacts
from ingest.questions.launches.launch_files import Beside, add_files, names_in, table_in, with_written
from ingest.questions.launches.manifests import (
    chart_commands,
    image_commands,
    is_manifest,
    manifest_commands,
    recipe_commands,
    unit_commands,
)
from ingest.questions.launches.options import LaunchOptions, parse_options
from ingest.questions.launches.own_script import ANSWERING, DENOISING, read_answering, read_denoising
from ingest.questions.launches.program import (
    StartedProgram,
    UnknownStart,
    known_programs,
    program_signs,
    started_program,
)
from ingest.questions.launches.script import Script, ShellCommand, place_of_text
from ingest.questions.launches.shell import read_script
from ingest.questions.launches.variables import (
    batch_job,
    named_device,
    reaching,
    settings_among,
    slices,
    visible_devices,
)
from ingest.questions.nemo_recipes import nemo_recipes
from ingest.questions.releases import release_of_image
from kg.errors import InputError, UnknownEntityError
from kg.nouns.setting import SettingPlace
from kg.terms.dialects import layout_of
from kg.terms.meanings import long_names, plain_name, programs
from kg.terms.setting_registry import registry, softwares

_MOST_NESTED = 3
_MOST_INSIDE = 20_000
"""Commands of all texts that shells of a text run: one in a variable may be run often."""
_MOST_LAUNCHES = 200
"""Most launches of a text, 2 ms each; a choice."""
MOST_WORDS = 4_000
"""Most words of a launch, and most variables; ten times those of any published one."""


class LaunchForm(StrEnum):
    """The kind of text that a launch stands in."""

    MANIFEST = "a manifest"
    CHART = "a file of values of a chart"
    RAY = "a configuration of Ray Serve"
    LOG = "the log of a server"
    CALL = "a program in Python"
    FACTORY = "a recipe in Python"
    UNIT = "a unit of a supervisor"
    RECIPES = "a Makefile"
    IMAGE = "a Dockerfile"
    CONFIGURATION = "a file of settings"
    SCRIPT = "a script"


_ALIKE = 0.6
"""Likeness (``difflib``'s ratio) from which a script's name is taken for that of a program; a choice."""
_MISSPELT = 0.85
"""The same for a command, which has less to tell it by; a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch of a text.

    Attributes:
        facts: What it says.
        command: The command, as it stands in the text; of a text that another shell runs, that shell's.
        started: The program that it starts.
        form: Kind of the text.
        path: Number of the command among those of the text, and in texts that other shells run, further in.
        variables: Those that reach the program.
        used: Variables that the text itself reads.
    """

    facts: LaunchFacts
    command: ShellCommand
    started: StartedProgram
    form: LaunchForm = LaunchForm.SCRIPT
    path: tuple[int, ...] = (0,)
    variables: Mapping[str, str] = field(default_factory=dict)
    used: frozenset[str] = frozenset()

    @property
    def role(self) -> str:
        """The part of a deployment that it serves: ``prefill``, ``decode``, or empty."""
        traits = self.facts.question.get("traits")
        return str(traits.get("role", "")) if isinstance(traits, dict) else ""

    def __str__(self) -> str:
        question = self.facts.question
        count = question.get("count")
        where = "" if count is None else f" on {count} device" + "s" * (count != 1)
        kind = f"{self.role} server" if self.role else self.started.signs.id
        return f"{kind} of {question.get('model', 'a model not told')}{where}"


def read_launch(
    text: str, place: str, *, beside: Beside = lambda _: None, server: int | None = None
) -> LaunchFacts:
    """The facts of the launch in a command or script; of several, the one that is asked for.

    Args:
        text: The script; it is read, never executed.
        place: Name of the text in errors and notes.
        beside: Reads the files that it names.
        server: Number of the launch among several, from 1; None for the first.

    Raises:
        InputError: It launches nothing that is known.
    """
    found, notes = _launches(text, place, beside)
    if not found:
        if any(read_launches(here, place) for here in read_script(text).here_documents):
            raise InputError(
                f"{place}: no launch is found in it outside of a here-document",
                hint="give the text of that as a file of its own",
            )
        if _is_question(text):
            raise InputError(
                f"{place}: this is a question: nothing is launched in it",
                hint=f"tunegraph recommend {shlex.quote(place)}",
            )
        near = _near_command(text)
        raise InputError(
            f"{place}: no launch is found in it",
            hint=f"did you mean {near}?" if near else "the programs that are read: tunegraph support",
        )
    if server is not None and not 1 <= server <= len(found):
        raise InputError(
            f"{place}: there is no launch {server}", hint=f"it has {len(found)}: {_listed(found)}"
        )
    chosen = found[(server or 1) - 1]
    notes = [*chosen.facts.notes, *notes]
    if len(found) > 1:
        notes.insert(len(chosen.facts.notes), _of_several(found, chosen))
    return replace(chosen.facts, notes=tuple(f"{place}: {note}" for note in dict.fromkeys(notes)))


def read_launches(text: str, place: str, beside: Beside = lambda _: None) -> tuple[Launch, ...]:
    """All launches of a text, in their order; none where it launches nothing that is known."""
    return tuple(_launches(text, place, beside)[0])


def stands_in(text: str, beside: Beside) -> str:
    """The program in Python that a launch of a script stands in; empty where the script has all of them."""
    for command in read_script(text).commands:
        if with_called(command, beside) is not command:
            return next(word for word in command.words if word.endswith(".py"))
    return ""


def _near_command(text: str) -> str:
    """The command of a program that one of a text is misspelt from; empty where none is."""
    commands = [command for signs in program_signs().values() for command in signs.commands]
    begun = [one.words[:length] for one in read_script(text).commands for length in (1, 2, 3)]
    near = (get_close_matches(" ".join(words), commands, 1, _MISSPELT) for words in begun)
    return next((names[0] for names in near if names), "")


def _is_question(text: str) -> bool:
    """True if a text is the file of a question, with its keys and no others."""
    from ingest.questions.problem_file import KEYS

    content = table_in(text)
    return ("phase" in content or "op" in content) and content.keys() <= {*KEYS}


def _refuse_broken(text: str, place: str) -> None:
    from ingest.files.safe_yaml import check_syntax  # a question without files needs no parser

    try:
        check_syntax(text)
    except ContentError as fault:
        raise InputError(f"{place}: {fault}") from fault


def _listed(found: Sequence[Launch]) -> str:
    return "; ".join(f"{number} {launch}" for number, launch in enumerate(found, 1))


def _of_several(found: Sequence[Launch], chosen: Launch) -> str:
    """A note that names the planned one of several launches, and the option that picks another."""
    number = found.index(chosen) + 1
    if len({json.dumps(one.facts.question, sort_keys=True, default=str) for one in found}) == 1:
        return f"{len(found)} servers alike: the plan is for each of them"
    return f"{len(found)} launches: {_listed(found)}; this is a plan for {number}, --server N picks another"


def _launches(text: str, place: str, beside: Beside) -> tuple[list[Launch], list[str]]:
    """The launches of a text in the first of its forms that has any, and notes on the text.

    Raises:
        InputError: A file of YAML is broken; one that is a template may be.
    """
    beside = with_written(text, beside)
    if place.endswith((".yaml", ".yml")) and is_manifest(text) and "{{" not in text:
        _refuse_broken(text, place)
    forms: tuple[tuple[LaunchForm, Callable[[str], Iterable[ShellCommand]]], ...] = (
        (
            LaunchForm.MANIFEST,
            lambda text: manifest_commands(text, beside(".env")) if is_manifest(text) else (),
        ),
        (LaunchForm.CHART, chart_commands),
        (LaunchForm.RAY, ray_commands),
        (LaunchForm.LOG, logged_arguments),
        (LaunchForm.CALL, engine_calls),
        (
            LaunchForm.FACTORY,
            lambda text: [ShellCommand(words=words, line=line) for words, line in nemo_recipes(text)],
        ),
        (LaunchForm.UNIT, unit_commands),
        (LaunchForm.IMAGE, image_commands),
        (LaunchForm.RECIPES, recipe_commands),
        (LaunchForm.CONFIGURATION, lambda text: configuration_command(text, place)),
    )
    for form, commands in forms:
        with_files = with_itself(text, beside, place) if form is LaunchForm.CONFIGURATION else beside
        found, notes = _started(commands(text), Script(commands=(), notes=()), place, with_files, form)
        if found:
            return found, notes
    nodes, each, device = batch_job(text)
    given = {
        "SLURM_NNODES": nodes,
        "SLURM_JOB_NUM_NODES": nodes,
        "SLURM_GPUS_PER_NODE": each,
        "SLURM_GPUS_ON_NODE": each,
    }
    script = read_script(text, {name: str(value) for name, value in given.items() if value})
    found, notes = _started(script.commands, script, place, beside, LaunchForm.SCRIPT)
    if nodes and each:
        found = [replace(one, facts=_on_job(one, nodes, each, device)) for one in found]
    return found, notes


def _on_job(launch: Launch, nodes: int, each: int, device: str) -> LaunchFacts:
    """The facts of a launch on a job: a trainer has all its devices, where it does not itself state them."""
    facts, started = launch.facts, launch.started
    if device:
        facts = replace(facts, question={"hardware": device, **facts.question})
    if started.signs.reader != "server" and not started.devices("all"):
        count = (started.devices("each") or each) * (started.devices("nodes") or nodes)
        facts = replace(facts, question={**facts.question, "count": count})
    needed = facts.question.get("count")
    if not isinstance(needed, int) or needed <= nodes * each:
        return facts
    note = f"#SBATCH asks for {nodes * each} devices, and the launch divides over {needed}"
    return replace(facts, notes=(*facts.notes, note))


def _started(
    commands: Iterable[ShellCommand],
    script: Script,
    place: str,
    beside: Beside,
    form: LaunchForm,
    *,
    depth: int = 0,
    inside: list[int] | None = None,
) -> tuple[list[Launch], list[str]]:
    """The launches among commands, also in the texts that their shells run.

    Raises:
        UnknownEntityError: They start one program alone, and nothing tells which.
    """
    found: list[Launch] = []
    unknown: list[UnknownStart] = []
    notes = list(script.notes)
    inside = [] if inside is None else inside  # commands of each text that was read
    installed: list[str] = []
    for number, written in enumerate(commands):
        if len(found) >= _MOST_LAUNCHES:
            notes.append(f"only the first {_MOST_LAUNCHES} launches were read")
            break
        command = with_called(written, beside)
        words, names = command.words, [word.rstrip("/").rpartition("/")[2] for word in command.words]
        environment = reaching(words, names, command.environment)
        inner_place = place_of_text(words, names)
        if inner_place is not None and depth < _MOST_NESTED and sum(inside) <= _MOST_INSIDE:
            inner = read_script(words[inner_place], environment)
            inside.append(len(inner.commands))
            image = command.image or next((word for word in words if release_of_image(word)), "")
            under = [replace(one, image=image) for one in inner.commands]
            deeper, more = _started(under, inner, place, beside, form, depth=depth + 1, inside=inside)
            found += [replace(one, command=command, path=(number, *one.path)) for one in deeper]
            notes += more if deeper else []
            continue
        if "install" in words:
            installed += [word for word in words if "==" in word]
        started = started_program(words, lambda name: names_in(name, beside))
        if isinstance(started, UnknownStart):
            unknown.append(started)
        elif max(len(words), len(environment)) > MOST_WORDS and started is not None:
            raise InputError(f"{place}: a launch of over {MOST_WORDS} words or variables is not read")
        elif started is not None and started.told(environment) is not None:
            facts = _facts(started, environment, script.used, place, beside)
            facts = _released(facts, (*words, command.image, *installed))
            found.append(
                Launch(
                    facts=facts,
                    command=command,
                    started=started,
                    form=form,
                    path=(number,),
                    variables=environment,
                    used=script.used,
                )
            )
    if unknown and not found and not depth:
        first = unknown[0]
        near = get_close_matches(PurePosixPath(first.script).stem, program_signs(), 1, _ALIKE)
        raise UnknownEntityError(
            f"{place}: {first.launcher} starts {first.script}, whose name and options tell no program",
            hint=f"did you mean {near[0]}?"
            if near
            else f"known: {known_programs()}; or leave the script out: --model, --phase, --software NAME",
        )
    return found, notes


def _facts(
    started: StartedProgram, variables: Mapping[str, str], used: frozenset[str], place: str, beside: Beside
) -> LaunchFacts:
    """The facts of one launch, by the kind of its program's options."""
    signs = started.signs
    environment, visible = settings_among(variables, used, signs.id), visible_devices(variables)
    given = parse_options(
        started.words,
        _full_names(signs.id),
        _switches(signs.id) if signs.reader == "server" else lambda _: False,
        overrides=signs.reader == "trainer",
    )
    given.values |= started.told(variables) or {}
    read = add_files(started, given, beside)
    if signs.id == ANSWERING:
        facts = read_answering(given)
    elif signs.id == DENOISING:
        facts = read_denoising(given)
    elif signs.reader == "server":
        facts = serving.read_server(started, given, environment)
    elif signs.reader == "mindformers":
        facts = mindformers.read_launch(started, given, environment)
    elif signs.reader == "megatron":
        launcher = LaunchOptions()
        for options in started.launchers.values():
            launcher.values |= options.values
            launcher.unknown |= options.unknown
            launcher.unseen += options.unseen
        facts = megatron.read_megatron(given, launcher, environment, place)
        facts = replace(facts, question={**facts.question, "software": {signs.id: ""}})
        if "count" not in facts.question and (count := trainers.devices_of(started, given)) is not None:
            facts = replace(facts, question={**facts.question, "count": count})
    else:
        facts = trainers.read_trainer(started, given, environment)
    notes = tuple(note for note in facts.notes if note.removeprefix(f"{NOT_READ} ") not in read)
    sliced = (
        f"a slice of a device is given ({name}): memory and prices here are those of a whole one"
        for name in slices(variables)
    )
    facts = replace(facts, notes=(*notes, *_undivided(facts.question, signs.id), *sliced))
    if device := named_device(variables):
        facts = replace(facts, question={**facts.question, "hardware": device})
    if visible is None or "count" in facts.question:
        return facts
    return replace(facts, question={**facts.question, "count": visible})


def _undivided(question: Mapping[str, object], program: str) -> Iterator[str]:
    """A note if the devices that a launcher starts are not those that the program divides over."""
    count, current = question.get("count"), question.get("current")
    if isinstance(count, int) and isinstance(current, dict) and program in programs():
        needed = layout_of(current, program).devices
        if count % needed:
            yield f"it divides over {needed} devices, and is started on {count}"


def _full_names(program: str) -> Callable[[str], str]:
    """The first spelling of an option of a program, without dashes, by any of its spellings."""
    names = long_names(program) if program in programs() else {}
    release = registry(program).at("") if program in softwares() else None

    def full_name(written: str) -> str:
        name = plain_name(written)
        if name not in names and release is not None and not written.startswith("--"):
            found = release.look_up(written, SettingPlace.FLAG, suggest=False).setting
            return name if found is None else plain_name(found.key)
        return names.get(name, name)

    return full_name


def _switches(program: str) -> Callable[[str], bool]:
    """A test that is True for options of a program that take no value, by its registry."""
    if program not in softwares():
        return lambda _: False
    release = registry(program).at("")

    def is_switch(name: str) -> bool:
        found = release.look_up(f"--{name.replace('_', '-')}", SettingPlace.FLAG, suggest=False)
        return found.setting is not None and found.setting.type == "bool"

    return is_switch


def _released(facts: LaunchFacts, words: Sequence[str]) -> LaunchFacts:
    """The same facts with the release that the tag of the container's image names."""
    stated = facts.question.get("software")
    image = next((found for word in words if (found := release_of_image(word)) is not None), None)
    if image is None or not isinstance(stated, dict) or not _is_part(image[0], stated):
        return facts
    return replace(facts, question={**facts.question, "software": dict([image])})


def _is_part(program: str, stated: Mapping[str, object]) -> bool:
    """True if a program, or the program that it extends as a plugin, is launched without a release."""
    return any(not version and program in {name, f"{name}-ascend"} for name, version in stated.items())
