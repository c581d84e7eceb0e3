"""A plan written into the user's own launch script, as a diff."""

import difflib
import shutil
import subprocess
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path, PurePath
from shlex import quote

from ingest.questions.launches.launch import Launch, LaunchForm, read_launch, read_launches, stands_in
from ingest.questions.launches.launch_files import Beside
from ingest.questions.launches.serving import ADDRESSES
from ingest.questions.launches.variables import visible_devices
from ingest.questions.patches.script_edits import EditedScript, ScriptEdits, edited, is_setting_file
from kg.atomic_files import write_text
from kg.errors import InputError
from kg.nouns.gain import factor_text
from kg.nouns.setting import SettingPlace
from kg.nouns.values import show
from kg.terms.dialects import spelling_in
from kg.terms.meanings import divides
from kg.terms.purposes import Purpose, plain_key, purpose
from kg.terms.setting_registry import registry, softwares
from recommender.ranking.change import Change
from recommender.ranking.paste import field_lines, flag_objects, value_words
from recommender.ranking.plan.plan import Plan
from recommender.ranking.plan_setting import Origin, PlanSetting
from recommender.ranking.starts.drafting import DRAFT_MODEL, DRAFTS

_NEW = "#!/usr/bin/env bash\n"
_LONGEST_S = 10.0
"""Seconds that bash may take to parse a script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedScript:
    """A launch script with a plan written into it.

    Attributes:
        text: The new script.
        diff: What changed, as a unified diff; empty if nothing did.
        reasons: Why, a line for each setting or change.
        unwritten: What could not be written into it, with the reason.
        proof: What was checked of it, in a line; empty for a new script.
        files: New files of settings that it names, by name.
    """

    text: str
    diff: str
    reasons: tuple[str, ...]
    unwritten: tuple[str, ...]
    proof: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    def write(self, path: Path, like: Path | None = None) -> None:
        """Write the new script and its files, whole or not at all; with the mode of that it was made from.

        Raises:
            InputError: A file of its name is there.
        """
        folder = path.parent if like is None else like.parent
        for name in self.files:
            if (folder / name).exists():
                raise InputError(f"{folder / name} exists", hint=f"name another script than {path.name}")
        for name, text in self.files.items():
            write_text(folder / name, text)
        write_text(path, self.text)
        if like is not None:
            path.chmod(like.stat().st_mode)


def tuned_script(
    plan: Plan,
    script: str = "",
    name: str = "launch.sh",
    new_name: str = "",
    *,
    removed: Sequence[str] = (),
    outdated: Container[str] = (),
    elsewhere: Sequence[str] = (),
    raised: Mapping[str, str] | None = None,
    stated: Container[str] = (),
    server: int | None = None,
    beside: Beside = lambda _: None,
) -> TunedScript:
    """The start of a plan, and its changes with a gain and no condition, written into a launch script.

    Args:
        plan: The plan; what runs now in it is left as the script has it, unless it was told otherwise.
        script: The script; without one a new one is written.
        name: Of the script, for the diff.
        new_name: Of the new script, for the diff; that of the old one if empty.
        removed: Flags and variables that are taken away.
        outdated: Those of them that the release has no more.
        elsewhere: Those of them that stand in a file which the script names.
        raised: New values of flags and variables whose old ones cannot stay; empty for a switch without one.
        stated: Names of settings in use that were told beside the script, and win over it.
        server: Number of the launch among several, from 1; None for the first, and for all that are like it.
        beside: Reads the files that the script names.

    Raises:
        InputError: The plan does not fit, the script launches nothing that is written, or bash refuses it.
    """
    if not plan.fits:
        raise InputError("there is nothing to write: the model does not fit on these devices")
    settings = [
        item
        for item in plan.start.settings
        if item.origin is not Origin.CURRENT or item.name in stated or item.key.rpartition(".")[2] in stated
    ]
    chosen = [change for change in plan.changes if _is_written(change)]
    wanted = {(item.where, item.key): item for item in settings}
    for change in chosen:
        wanted |= {(item.where, item.key): item for item in change.settings}
    launches = read_launches(script, "")[(server or 1) - 1 :] if script else ()
    is_file = any(is_setting_file(one, script) for one in launches[:1])
    beyond = [item for item in wanted.values() if not (is_file and item.where is SettingPlace.YAML)]
    unwritten = [f"{line}: not in the script" for line in field_lines(beyond)]
    unwritten += [f"{change.title}: test it first" for change in plan.changes if _is_layout(change)]
    proof, kept, diff = "", list[str](), ""
    files: dict[str, str] = {}
    if script:
        launch = _launch(script, plan.start.framework, server, beside)
        unwritten += _unseen_devices(launch, plan)
        # without the path of a draft model the server would not start: such flags are named, not written
        drafts = any(item.value == DRAFT_MODEL for item in wanted.values())
        drafted = {
            item.key.partition(".")[0]
            for item in wanted.values()
            if drafts and plain_key(item.key).startswith(DRAFTS)
        }
        unwritten += [f"{key}: it needs a draft model of your own" for key in sorted(drafted)]
        done = _done_anyway(wanted.values(), launch, plan)
        unwritten += [f"{item.key} {show(item.value)}: the default of the release" for item in done]
        written = [
            item
            for item in wanted.values()
            if item.key.partition(".")[0] not in drafted and item not in done and not _is_told(item, launch)
        ]
        settings = [item for item in settings if item in written]
        chosen = [change for change in chosen if any(item in written for item in change.settings)]
        keys = {plain_key(item.key) for item in written if not _is_off(item)}
        kept = [key for key in (*removed, *elsewhere) if plain_key(key) not in keys]
        edits = edits_of(written)
        if is_file:
            keys_of_file = {
                f"--{item.key}": value_words(item) or ("true",) for item in written if item not in beyond
            }
            edits = replace(edits, flags={**edits.flags, **keys_of_file})
        again = raised or {}
        flags: dict[str, tuple[str, ...]] = {
            key: (value,) if value else () for key, value in again.items() if key.startswith("-")
        }
        flags |= edits.flags
        variables = {key: value for key, value in again.items() if key not in flags} | {**edits.variables}
        gone = (*kept, *edits.removed)
        edits = replace(edits, flags=flags, variables=variables, removed=gone, elsewhere=frozenset(elsewhere))
        new = edited(script, edits, server, beside=beside, stem=PurePath(new_name or name).stem)
        text, unwritten = new.text, [*unwritten, *new.unwritten]
        for old, (file, content) in new.files.items():
            files[file], diff = content, diff + _diff(beside(old) or "", content, old, file)
        kept = [key for key in kept if not any(line.startswith(f"without {key}: ") for line in new.unwritten)]
        proof = _proof(new, name)
    else:
        text = _NEW + "\n".join(_pasted(plan, chosen)) + "\n"
    return TunedScript(
        text=text,
        diff=_diff(script, text, name if script else "/dev/null", new_name or name) + diff,
        reasons=(*(_why_gone(key, outdated) for key in kept), *_reasons(settings, chosen)),
        unwritten=tuple(unwritten),
        proof=proof,
        files=files,
    )


def _is_told(item: PlanSetting, launch: Launch) -> bool:
    """True if the launch states a length, by another of the names that it has in the program."""
    words, names = launch.started.words, launch.started.signs.length
    told = {plain_key(word): value for word, value in pairwise(words) if plain_key(word) in names}
    return (
        plain_key(item.key) in names and plain_key(item.key) not in told and str(item.value) in told.values()
    )


def _why_gone(key: str, outdated: Container[str]) -> str:
    return f"{key}: the release took it away" if key in outdated else f"{key}: taken away, it only costs here"


def script_with(
    edits: ScriptEdits, script: str, name: str, new_name: str, server: int | None = None
) -> TunedScript:
    """Settings that were found by measuring, written into a launch script, and the proof of it.

    Args:
        edits: The settings.
        script: The script.
        name: Of the script, for the diff.
        new_name: Of the new script, for the diff.
        server: Number of the launch among several, from 1.

    Raises:
        InputError: The script launches nothing, is of a form that is read only, or bash refuses it.
    """
    new = edited(script, edits, server)
    made = script_of(new.text, script, name, new_name)
    return replace(made, unwritten=new.unwritten, proof=_proof(new, name))


def script_of(text: str, script: str, name: str, new_name: str) -> TunedScript:
    """A text that was made from a script, with what changed.

    Raises:
        InputError: bash refuses it.
    """
    diff, proof = _diff(script, text, name, new_name), _parsed(text, name).removeprefix("; ")
    return TunedScript(text=text, diff=diff, reasons=(), unwritten=(), proof=proof)


def _proof(new: EditedScript, name: str) -> str:
    commands = f"{new.commands} command{'s' * (new.commands != 1)}, " if new.commands else ""
    changed = f"{new.edits} setting{'s' * (new.edits != 1)} changed"
    parsed = _parsed(new.text, name) if new.form is LaunchForm.SCRIPT else ""
    return f"read again: {commands}{changed}, all else as it was{parsed}"


def _parsed(text: str, name: str) -> str:
    """Check that bash, where it is installed, parses a script; nothing is run.

    Raises:
        InputError: It does not.
    """
    bash = shutil.which("bash")
    if bash is None:
        return ""
    checked = subprocess.run(
        [bash, "-n"], input=text.encode(), capture_output=True, timeout=_LONGEST_S, check=False
    )
    if checked.returncode:
        raise InputError(f"{name}: bash does not parse what would be written; nothing was")
    return "; bash parses it"


def _launch(script: str, framework: str, server: int | None, beside: Beside) -> Launch:
    """The launch that a plan is written into.

    Raises:
        InputError: There is none, it is of another engine, or it stands in a program that the script runs.
    """
    if program := stands_in(script, beside):
        raise InputError(
            f"the settings stand in {program}, which the script runs",
            hint=f"tunegraph recommend {quote(program)} --write FILE",
        )
    launched = read_launch(script, "the script", server=server).question.get("software")
    engine = next(iter(launched), "") if isinstance(launched, dict) else ""
    if engine and not _is_built_on(framework, engine):
        raise InputError(
            f"the script launches {engine}, the plan is for {framework}", hint=f"--software {engine}"
        )
    return read_launches(script, "")[(server or 1) - 1]


def _unseen_devices(launch: Launch, plan: Plan) -> Iterator[str]:
    """A note that a server sees fewer devices than a plan takes: nobody said which others it may have."""
    shown = visible_devices(launch.variables) if launch.started.signs.reader == "server" else None
    layout, names = plan.start.layout, {item.name for item in plan.start.settings}
    if shown and layout and layout.devices > shown and not names & {*ADDRESSES}:
        yield f"devices that the script does not show: it shows {shown}, the plan takes {layout.devices}"


def _done_anyway(settings: Iterable[PlanSetting], launch: Launch, plan: Plan) -> list[PlanSetting]:
    """Flags that a script does not have and whose values are those of its release without them."""
    program, current = plan.start.framework, launch.facts.question.get("current")
    if program not in softwares():
        return []
    release = registry(program).at(plan.start.version)
    names = current if isinstance(current, dict) else {}
    held = {plain_key(spelling_in(program, name)) for name in names}
    flags = [item for item in settings if item.where is SettingPlace.FLAG and not item.removed]
    return [
        item
        for item in flags
        if plain_key(spelling_in(program, item.key)) not in held
        and (
            release.look_up(item.key, SettingPlace.FLAG, suggest=False).is_default(item.value)
            or (item.value == 1 and item.value is not True and divides(item.key))
        )
    ]


def _is_built_on(framework: str, engine: str) -> bool:
    """True if a framework is the engine or starts it, as MindSpeed-LLM starts Megatron's own scripts."""
    known = registry(framework) if framework in softwares() else None
    beneath = known.beneath if known is not None else ()
    return engine in {framework, known.software if known is not None else ""} or any(
        _is_built_on(item, engine) for item in beneath
    )


def _diff(before: str, after: str, name: str, new_name: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), name, new_name
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _is_layout(change: Change) -> bool:
    return change.gain is not None and any(purpose(item.key) is Purpose.LAYOUT for item in change.settings)


def _is_written(change: Change) -> bool:
    """True if a change goes into the script unasked: a gain, no open condition, the same accuracy."""
    return (
        bool(change.settings)
        and not _is_layout(change)
        and change.wins
        and not change.provided
        and change.accuracy == "unchanged"
    )


def _pasted(plan: Plan, chosen: Sequence[Change]) -> list[str]:
    changed = [item for change in chosen for item in change.settings]
    added = [item for item in changed if not item.removed]
    keys = {(item.where, item.key) for item in changed}
    kept = [item for item in plan.start.settings if (item.where, item.key) not in keys]
    return replace(plan.start, settings=(*kept, *added)).paste_lines


def written_settings(plan: Plan, change: Change | None = None) -> list[PlanSetting]:
    """The settings of a start, or of a change to it, that a launch script can hold: no drafts, no files."""
    listed = plan.start.settings if change is None else change.settings
    return [
        item
        for item in listed
        if item.origin is not Origin.CURRENT
        and not item.file
        and not plain_key(item.key).startswith(DRAFTS)
        and purpose(item.key) is not Purpose.MODEL
    ]


def _is_off(item: PlanSetting) -> bool:
    """True if a setting is written by its negation."""
    return bool(item.negation) and show(item.value).lower() == "false"


def edits_of(settings: Iterable[PlanSetting]) -> ScriptEdits:
    """Settings as they are written into a script."""
    listed = list(settings)
    off = [item for item in listed if _is_off(item)]
    negations = {item.negation: () for item in off}
    flags = {
        item.key: value_words(item)
        for item in listed
        if item.where is SettingPlace.FLAG and item not in off and not item.removed
    }
    return ScriptEdits(
        variables={item.key: show(item.value) for item in listed if item.where is SettingPlace.ENV},
        flags={**flags, **negations},
        fields=flag_objects(listed),
        removed=tuple(item.key for item in listed if item.removed),
    )


def _reasons(settings: Sequence[PlanSetting], chosen: Sequence[Change]) -> Iterable[str]:
    named: set[str] = set()
    for item in settings:
        share = "" if item.agreement is None else f", set by {item.agreement:.0%} of the recipes by weight"
        is_new = bool(item.source) and item.source not in named
        named.add(item.source)
        yield f"{item.key}: {item.origin}{share}" + (f" <{item.source}>" if is_new else "")
    for change in chosen:
        gain = change.gain
        said = "" if gain is None else f"{factor_text(gain)}, chance {gain.probability_of_gain:.0%}, "
        yield f"{', '.join(item.key for item in change.settings)}: {change.title}, {said}{change.tier}"
