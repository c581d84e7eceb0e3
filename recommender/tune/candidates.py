"""Changes to try on a script, one at a time: those of a plan, those that were asked for, those of the script.

Without a plan the script itself is the space: what it sets is taken away, doubled and halved, and what its
program batches by is doubled and halved from its default. Lengths, precisions and the layout over devices are
left alone: they change what is served or trained, or need devices. A trainer's batch goes against the batches
that it sums up, so that a step keeps its samples; where that cannot be, times are told for the same samples.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ingest.questions.launches.serving import NOT_TUNED
from ingest.questions.launches.variables import NOT_TUNED_ENVIRONMENT
from ingest.questions.patches.script_edits import ScriptEdits
from kg.errors import InputError
from kg.nouns.audit import FindingKind
from kg.nouns.codec import JsonNoun, fields_json, in_json, noun_of
from kg.nouns.look_up import Standing
from kg.nouns.setting import SettingPlace
from kg.nouns.values import Settings, Value, digest, show
from kg.terms.dialects import positive, spell, statement
from kg.terms.meanings import kinds, meaning_of, programs, settings_of
from kg.terms.purposes import Purpose, plain_key, purpose
from kg.terms.setting_registry import registry, softwares
from recommender.audit.registry_findings import STRICT
from recommender.measuring.masking import is_secret
from recommender.tune.launch_script import joined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ingest.questions.launches.running import RunningSetting
    from recommender.answers.answer import Answer
    from recommender.audit.finding import SettingFinding
    from recommender.tune.launch_script import LaunchScript

_WHOLE = re.compile(r"\d{1,12}")
_NAMED = re.compile(r"\s*(-{1,2}[A-Za-z][\w.-]*|[A-Za-z_]\w*)\s*=(.*)", re.DOTALL)
_TRIED = frozenset({FindingKind.COST, FindingKind.DEBUGGING, FindingKind.LIMIT, FindingKind.OFFLOAD})
"""Kinds of findings that are tried; others change the service, or keep the script from running."""
ASKED = "asked for"
_BATCHES = ("batch", "chunk", "micro_batch")
"""Facts whose flags are tried although the script does not set them."""
_LEFT_KINDS = frozenset({"degree", "devices", "replicas", "length", "part"})
"""Kinds of facts that change what is served, or need devices."""
_FORMATS = frozenset({"precision", "precision_float32"})
_LEFT_FACTS = ("precision", "memory_share", "free_share", "output_len")
STEP = 2
"""A number is doubled and halved; a choice: finer steps are below the noise of few probes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneChange(JsonNoun):
    """One change of a script.

    Attributes:
        name: As it is shown, and as ``--change`` names it.
        edits: What it writes.
        why: Where it comes from, in words.
        expected: Factor that is expected; None where nothing is.
        strategy: Id of the strategy that it tries; empty for none.
        recommendation: Id of the change of a plan; empty for none.
        key: The setting that it changes, where it is one; empty for several.
        number: The value that it sets, where that is a whole number.
        doubles: Whether it doubles or halves what stood there; None where it does neither.
        provided: Condition that only the user can tell; it is tried where it is asked for.
    """

    name: str
    edits: ScriptEdits = field(metadata=in_json(read=lambda content: noun_of(ScriptEdits, content)))
    why: str
    expected: float | None = None
    strategy: str = ""
    recommendation: str = ""
    key: str = ""
    number: int | None = None
    doubles: bool | None = None
    provided: str = ""

    @property
    def digest(self) -> str:
        """Digest of its edits."""
        return digest_of(self.edits)


def digest_of(edits: ScriptEdits) -> str:
    """Digest of edits, the same whatever order they stand in."""
    return digest({**fields_json(edits), "removed": sorted(edits.removed)})[:16]


def configuration_of(edits: ScriptEdits, script: LaunchScript) -> Settings:
    """The settings of the script that edits change or could, by name, with their values."""
    names = {item.key: item.value for item in script.settings if _is_tuned(item, script)}
    for name in edits.removed:
        names.pop(name, None)
    names |= dict(edits.variables)
    names |= {name: " ".join(words) or "true" for name, words in edits.flags.items()}
    for carrier, content in edits.fields.items():
        names |= {f"{plain_key(carrier)}.{key}": show(value) for key, value in content.items()}
    return Settings({name.lstrip("-").replace("-", "_"): value for name, value in names.items()})


def samples_factor(edits: ScriptEdits, script: LaunchScript) -> float:
    """Samples of a training step with edits over those of the script as it is; 1 where one is not known."""
    own = {item.key: item.value for item in script.settings}
    changed = {name: value for name, value in own.items() if name not in edits.removed}
    changed |= {name: " ".join(words) for name, words in edits.flags.items()}
    before, after = (_samples(settings, script) for settings in (own, changed))
    return after / before if before and after else 1.0


def _samples(settings: Mapping[str, str], script: LaunchScript) -> int:
    """Samples of a step of one replica, or of all where those are stated; 0 where they are not known."""
    facts = statement(dict(settings), script.program).facts
    if (whole := positive(facts.get("global_batch"))) is not None:
        return whole
    micro, turns = (
        positive(facts.get(fact)) or positive(_default(key, script))
        for fact, key in (("micro_batch", _key(script, "micro_batch")), ("turns", _key(script, "turns")))
    )
    return (micro or 0) * (turns or 1)


def _key(script: LaunchScript, fact: str) -> str:
    """The setting by which a script's program is told a fact, as the script has it; empty without one."""
    found = spell(fact, script.program) if script.program in programs() else None
    return "" if found is None else _as_written(script, found[0].key)


def further(change: TuneChange) -> TuneChange | None:
    """The next step in the direction of a change that was better; None where there is none."""
    if change.number is None or change.number <= 1 or change.doubles is None:
        return None
    numbers = {name: int(words[0]) for name, words in change.edits.flags.items()}
    numbers |= {name: int(value) for name, value in change.edits.variables.items()}
    return _scaled(numbers, change.why, doubles=change.doubles)


def _scaled(numbers: Mapping[str, int], why: str, *, doubles: bool) -> TuneChange:
    """The change that doubles or halves numbers together, the first of which is the setting in question."""
    found = {name: number * STEP if doubles else number // STEP for name, number in numbers.items()}
    parts = [_written(name, str(number), why) for name, number in found.items()]
    name, edits = " ".join(one.name for one in parts), joined(one.edits for one in parts)
    return replace(parts[0], name=name, edits=edits, doubles=doubles)


def plan_changes(answer: Answer, script: LaunchScript) -> Iterator[TuneChange]:
    """The changes of a plan, its start first, then by what is expected of each."""
    from recommender.answers.tuned_script import edits_of, written_settings

    if answer.plan is None or not answer.plan.fits:
        return
    found = [item for item in answer.findings if item.setting.line is not None]
    taken = [item for item in found if item.is_taken_back]
    for finding in taken:
        yield _taken(finding, script)
    costly = {plain_key(key) for finding in taken for key in finding.removals}
    start = [
        item
        for item in written_settings(answer.plan)
        if not _is_for_others(item.key, script) and plain_key(item.key) not in costly
        if not _is_default(item.key, item.value, script)
    ]
    if start:
        edits = _respelled(edits_of(start), script)
        yield TuneChange(
            name="the plan's start", edits=edits, why="the plan's start", recommendation=answer.plan.start.id
        )
    changes = [item for item in answer.plan.changes if item.settings and item.accuracy == "unchanged"]
    for change in sorted(changes, key=lambda one: -(one.gain.expected if one.gain is not None else 0.0)):
        settings = written_settings(answer.plan, change)
        if any(_is_for_others(one.key, script) for one in settings):
            continue  # only where it is asked for: what is served would be another thing
        edits = _respelled(edits_of(settings), script)
        if any(True for _ in edits.each()):
            yield TuneChange(
                name=change.title,
                edits=edits,
                why=f"the plan, {change.tier}",
                expected=None if change.gain is None else change.gain.factor,
                strategy=change.strategy,
                recommendation=change.id,
                provided=change.provided,
            )
    for finding in found:
        is_tried = finding not in taken and finding.kind in _TRIED
        if is_tried and not _is_for_others(finding.setting.key, script):
            if (instead := finding.instead) is not None:
                yield _written(_as_written(script, instead[0]), instead[1], f"check: {finding.rule}")
            elif not finding.remedy and finding.kind is not FindingKind.LIMIT:
                yield _taken(finding, script)
    for item in start if len(start) > 1 else ():  # where the start as a whole is no gain, a part of it may be
        edits = _respelled(edits_of([item]), script)
        yield TuneChange(name=f"of the plan's start: {item.key}", edits=edits, why=f"the plan, {item.origin}")


def script_changes(script: LaunchScript, users: float = math.inf) -> Iterator[TuneChange]:
    """The changes that the script itself offers, of settings that are furthest from a default first.

    What the makers of a program chose for all is a better guess than twice what one script says, so a setting
    is taken away at first; then numbers are doubled and halved, those that are left to the program too.
    """
    yield from _narrower(script)
    yield from _more_users(script, users)
    for change in _script_changes(script):
        factor = 1.0 if script.is_server else samples_factor(change.edits, script)
        yield (
            change if factor == 1 else replace(change, why=f"{change.why}; {factor:g}x the samples of a step")
        )


def _more_users(script: LaunchScript, users: float) -> Iterator[TuneChange]:
    """More users at a time, up to those that come, where a program divides a length among them."""
    own = {_same(script, item.key): item for item in script.settings}
    for names in script.engine.divided.items():
        found = [own[name] for name in names if name in own and _WHOLE.fullmatch(own[name].value)]
        if len(found) == len(names) and 0 < int(found[0].value) < users and int(found[1].value):
            why = f"the script has {found[0].value}, x{STEP}"
            yield _scaled({item.key: int(item.value) for item in found}, why, doubles=True)


def _narrower(script: LaunchScript) -> Iterator[TuneChange]:
    """Switches of a trainer to narrower number formats: they change results, so they are asked for."""
    if script.is_server or script.program not in programs() or script.program not in softwares():
        return
    stated = statement({item.key: item.value for item in script.settings}, script.program).facts
    seen: set[str] = set()
    for meaning in settings_of(script.program):
        fact = meaning.fact
        setting = (
            registry(script.program).at("").look_up(meaning.key, SettingPlace.FLAG, suggest=False).setting
        )
        if fact not in _FORMATS or fact in seen or stated.get(fact) not in {None, "fp32"}:
            continue
        if setting is not None and setting.takes == "bool":
            seen.add(fact)
            change = _written(meaning.key, "true", "")
            yield replace(change, name=f"{meaning.key}=true", provided="a narrower number format may be used")


def _script_changes(script: LaunchScript) -> Iterator[TuneChange]:
    tuned = [item for item in script.settings if _is_tuned(item, script)]
    tuned.sort(key=lambda item: -_distance(item, script))
    for item in tuned:
        if _distance(item, script):
            is_bare = item.place is SettingPlace.FLAG and item.value == "true"
            yield _without((item.key,), "the script sets it" if is_bare else f"the script has {item.value}")
    for item in tuned:
        if _is_gone(item, script):
            continue
        if _WHOLE.fullmatch(item.value) and not (item.place is SettingPlace.ENV and item.value in {"0", "1"}):
            if not script.is_server and item.key == _key(script, "micro_batch"):
                yield from _against_turns(item.key, int(item.value), script)
            yield from _doubled_and_halved(item.key, int(item.value), "the script has")
    if script.program not in programs() or script.program not in softwares():
        return
    known = {_same(script, item.key) for item in script.settings} | {*script.engine.left}
    for meaning in settings_of(script.program):
        if meaning.fact not in _BATCHES or meaning.place is not SettingPlace.FLAG or meaning.key in known:
            continue
        default = _default(meaning.key, script)
        if isinstance(default, int) and not isinstance(default, bool) and default > 1:
            yield from _doubled_and_halved(meaning.key, default, "the default is")


def _is_gone(item: RunningSetting, script: LaunchScript) -> bool:
    """True if the program's newest release removed a setting: no other value of it is worth a start."""
    if script.program not in softwares():
        return False
    return registry(script.program).at("").look_up(item.key, suggest=False).standing is Standing.REMOVED


def _distance(item: RunningSetting, script: LaunchScript) -> float:
    """Doublings between a setting and its program's default: 0 at it, 1 where no two numbers are known."""
    default = _default(item.key, script)
    number = int(item.value) if _WHOLE.fullmatch(item.value) else 0
    if isinstance(default, int) and min(number, default) > 0:
        return abs(math.log2(number / default))
    return float(default is None or show(default) != item.value)


def named_changes(
    texts: Sequence[str], script: LaunchScript, planned: Sequence[TuneChange]
) -> Iterator[TuneChange]:
    """The changes of ``--change``: ``FLAG=A,B``, ``FLAG=`` (without it), ``VARIABLE=A,B``, one of the plan.

    Raises:
        InputError: One is none of them.
    """
    for text in texts:
        found = next(
            (one for one in planned if text.strip() in {one.name, one.recommendation[: len(text)]} - {""}),
            None,
        )
        if found is not None:
            yield found
            continue
        match = _NAMED.fullmatch(text)
        if match is None:
            hint = "--change '--max-num-seqs=64,128', --change OMP_NUM_THREADS=2, --change '--enforce-eager='"
            raise InputError(
                f"--change {text!r}: no change of the plan, and no setting with values", hint=hint
            )
        key, values = match[1], match[2].strip()
        _refuse_unknown(key, values, script)
        key = _as_written(script, key)
        if not values and script.program and all(item.key != key for item in script.settings):
            raise InputError(f"--change {text!r}: the script does not set it")
        if not values:
            yield _without((key,), ASKED)
        for value in filter(None, map(str.strip, values.split(","))):
            yield _written(key, value, ASKED)


def _refuse_unknown(key: str, values: str, script: LaunchScript) -> None:
    """Refuse a flag that the program does not have, or a value that its parser does not take.

    Raises:
        InputError: It is one.
    """
    if not key.startswith("-") or script.program not in STRICT:
        return
    answer = registry(script.program).at("").look_up(key)
    is_stated = any(item.key == key for item in script.settings)
    if answer.standing is Standing.UNKNOWN and not is_stated:
        near = ", ".join(answer.nearest)
        raise InputError(
            f"--change {key}: {script.program} has no such flag", hint=near and f"did you mean {near}?"
        )
    for value in filter(None, map(str.strip, values.split(","))):
        if answer.setting is not None and value != "true" and not answer.setting.accepts(value):
            raise InputError(f"--change {key}={value}: it takes {answer.setting.takes}")


def _written(key: str, value: str, why: str) -> TuneChange:
    """The change of one variable or flag; the value ``true`` switches a flag on."""
    words = () if value == "true" else (value,)
    edits = ScriptEdits(flags={key: words}) if key.startswith("-") else ScriptEdits(variables={key: value})
    number = int(value) if _WHOLE.fullmatch(value) else None
    return TuneChange(name=f"{key} {value}", edits=edits, why=why, key=key, number=number)


def _doubled_and_halved(key: str, number: int, why: str) -> Iterator[TuneChange]:
    for doubles, sign in ((True, f"x{STEP}"), (False, f"x1/{STEP}")):
        if number > (not doubles):
            yield _scaled({key: number}, f"{why} {number}, {sign}", doubles=doubles)


def _against_turns(key: str, number: int, script: LaunchScript) -> Iterator[TuneChange]:
    """A batch doubled and halved against the batches that are summed up: a step keeps its samples."""
    turns = _key(script, "turns")
    count = next((int(one.value) for one in script.settings if one.key == turns and one.value.isdigit()), 1)
    for micro, beside in ((number * STEP, count / STEP), (number / STEP, count * STEP)):
        if turns and micro == int(micro) and beside == int(beside):
            flags = {key: (str(int(micro)),), turns: (str(int(beside)),)}
            yield TuneChange(
                name=" ".join(f"{name} {words[0]}" for name, words in flags.items()),
                edits=ScriptEdits(flags=flags),
                why=f"the script has {number} and {count}: the same samples",
            )


def _without(keys: tuple[str, ...], why: str) -> TuneChange:
    key = keys[0] if len(keys) == 1 else ""
    return TuneChange(name=f"without {', '.join(keys)}", edits=ScriptEdits(removed=keys), why=why, key=key)


def _taken(finding: SettingFinding, script: LaunchScript) -> TuneChange:
    keys = tuple(_as_written(script, key) for key in finding.removals)
    return _without(keys, f"check: {finding.rule}")


def _is_tuned(item: RunningSetting, script: LaunchScript) -> bool:
    """True if a setting of the script is for speed alone."""
    plain = plain_key(item.key)
    if item.place not in {SettingPlace.FLAG, SettingPlace.ENV} or not item.is_known or is_secret(item.key):
        return False
    if _same(script, item.key) in script.engine.left:
        return False
    model = {"m", "model", "hf", "hf_repo"} if script.program == "llama.cpp" else {"model", "model_path"}
    addresses = {plain_key(script.engine.port), plain_key(script.engine.name)}
    if plain in NOT_TUNED | model | addresses or purpose(item.key) is not Purpose.TUNING:
        return False
    meaning = meaning_of(item.key, script.program)
    if meaning is None:  # a variable that holds a path, or devices, is of the machine
        is_local = "/" in item.value or NOT_TUNED_ENVIRONMENT.search(item.key)
        return item.place is SettingPlace.FLAG or not is_local
    return meaning.fact in _BATCHES or not (
        kinds()[meaning.fact] in _LEFT_KINDS or meaning.fact.startswith(_LEFT_FACTS)
    )


def _default(key: str, script: LaunchScript) -> Value:
    """The value that a program takes for a flag that is not given; None where that is not known."""
    if script.program not in softwares():
        return None
    release = registry(script.program).at("")
    found = release.look_up(key, SettingPlace.FLAG, suggest=False)
    stated = None if found.setting is None else found.setting.default_in(release.release)
    value = None if stated is None else stated.value
    return not value if found.negated and isinstance(value, bool) else value


def _is_default(key: str, value: Value, script: LaunchScript) -> bool:
    """True if a value equals the program's default for a setting that the script does not state."""
    stated = {_same(script, item.key) for item in script.settings}
    default = None if _same(script, key) in stated else _default(key, script)
    return default is not None and value is not None and show(default) == show(value)


def _is_for_others(key: str, script: LaunchScript) -> bool:
    """True if a setting changes what is served, a number format or a length, which no tune may do."""
    meaning = meaning_of(key, script.program)
    return meaning is not None and (meaning.fact.startswith("precision") or kinds()[meaning.fact] == "length")


def _same(script: LaunchScript, key: str) -> str:
    """The first spelling of a setting of the script's program by any of its spellings."""
    if script.program not in softwares():
        return key
    setting = registry(script.program).at("").look_up(key, SettingPlace.FLAG, suggest=False).setting
    return key if setting is None else setting.key


def _as_written(script: LaunchScript, key: str) -> str:
    """A flag in the spelling that the script has of it."""
    if not key.startswith("-"):
        return key
    same = _same(script, key)
    return next(
        (
            item.key
            for item in script.settings
            if item.key.startswith("-") and _same(script, item.key) == same
        ),
        key,
    )


def _respelled(edits: ScriptEdits, script: LaunchScript) -> ScriptEdits:
    return ScriptEdits(
        variables=edits.variables,
        flags={_as_written(script, key): words for key, words in edits.flags.items()},
        fields=edits.fields,
        removed=tuple(_as_written(script, key) for key in edits.removed),
    )
