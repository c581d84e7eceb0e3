"""The answer to a question: recommendations in order, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kg.errors import InputError
from kg.nouns.codec import JsonNoun, in_json, plain
from kg.nouns.entities import WorkloadKind
from kg.nouns.gain import factor_text, rounded_factor
from kg.nouns.situation import FactOrigin, Situation
from kg.terms.meanings import meaning_of
from kg.terms.purposes import plain_key
from kg.terms.setting_registry import registry, softwares
from recommender.ranking.plan_setting import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ingest.questions.launches.launch_files import Beside
    from kg.nouns.entities import Limit, Problem
    from kg.nouns.situation import StatedFact
    from recommender.answers.tuned_script import TunedScript
    from recommender.audit.finding import SettingFinding
    from recommender.cost_model.question import Question
    from recommender.ranking.change import Change
    from recommender.ranking.combination import Combination
    from recommender.ranking.deployments.disaggregation import Disaggregation
    from recommender.ranking.deployments.engines import Engine
    from recommender.ranking.feasibility.feasibility import Refusal
    from recommender.ranking.plan.plan import Plan
    from recommender.ranking.start import StartConfiguration


_MOST = {"not_here": 5, "refused": 3, "neighbours": 3, "further": 5}
"""Items of each list behind a decision that its short JSON keeps."""
_BEHIND = ("refused", "neighbours")
"""Parts of a model's plan that it does not rest on, or repeats under what is not for here: -v shows them."""
_OF_MODELS = frozenset({WorkloadKind.TRAINING, WorkloadKind.SERVING})


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention(JsonNoun):
    """The reason that an answer recommends nothing.

    Attributes:
        reason: What is wrong with the evidence, in a sentence.
        regret: Log regret that is expected of the first proposal.
        measure: Ids of the proposals whose measurement would tell most.
    """

    reason: str
    regret: float = field(metadata=in_json("expected_log_regret", digits=4))
    measure: tuple[str, ...] = field(metadata=in_json("measure_next"))


def _bare(setting: Mapping[str, Any]) -> dict[str, Any]:
    """A setting with what it sets and what it comes from: nothing unknown, no address, no share."""
    return {
        name: item
        for name, item in setting.items()
        if name == "value" or (item is not None and name not in {"source", "agreement"})
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a question.

    Attributes:
        problem: The question.
        version: The knowledge that it rests on.
        recommendations: What to try, best first.
        notes: What limits the answer.
        assumed: What is assumed where the question is silent.
        support: What is known of the program: its layouts and memory; empty for a kernel.
        unchecked: Limits that nothing can check yet.
        refused: What was left out, with the rule and its source.
        neighbours: The known problems that were asked, nearest first.
        ceiling: Log gain if all observed bottlenecks went away; None if their shares are not known.
        together: The recommended strategies that can be set together; None if fewer than two can.
        regret: Expected log regret of the best of the first k configurations of cases, by k.
        abstention: Why what is listed is worth a measurement and no more; None if it is recommended.
        plan: Where to start and what to change. Of a model its changes are the recommendations; of a kernel
            these
            are configurations. None where neither can be planned.
        priced: The start of a plan as the cost model was asked about it; None if it has no price.
        device: Device of the server that the question names; empty where it names a device.
        findings: What is wrong with the settings that run, worst first; the start is without what only costs.
        separation: Prefill and decode apart on the devices of the start; None where that is not priced.
        engines: Of either role, where the question says that they are apart: the start is what decodes.
    """

    problem: Problem
    version: str
    recommendations: tuple[Change, ...]
    notes: tuple[str, ...] = ()
    assumed: tuple[StatedFact, ...] = ()
    support: Mapping[str, object] = field(default_factory=dict)
    unchecked: tuple[Limit, ...] = ()
    refused: tuple[Refusal, ...] = ()
    neighbours: tuple[Mapping[str, object], ...] = ()
    ceiling: float | None = None
    together: Combination | None = None
    regret: Mapping[int, float] = field(default_factory=dict)
    abstention: Abstention | None = None
    plan: Plan | None = None
    priced: Question | None = None
    device: str = ""
    findings: tuple[SettingFinding, ...] = ()
    separation: Disaggregation | None = None
    engines: tuple[Engine, ...] = ()

    def __iter__(self) -> Iterator[Change]:
        return iter(self.recommendations)

    @property
    def situation(self) -> Situation:
        """Every fact that the answer rests on, each with its origin."""
        return Situation.of([*self.problem.situation, *self.assumed])

    @property
    def place(self) -> str:
        """The hardware in words: a count is of devices, also where a server is named."""
        hardware = self.problem.hardware
        if not hardware.count:
            return hardware.name
        return f"{hardware.count} x " + (
            f"{self.device} in {hardware.name}" if self.device else hardware.name
        )

    @property
    def starts(self) -> tuple[StartConfiguration, ...]:
        """The start of a model's plan and its alternatives; none where nothing fits."""
        if self.plan is None or not self.plan.fits or self.problem.workload.kind not in _OF_MODELS:
            return ()
        return (self.plan.start, *self.plan.alternatives)

    @property
    def added(self) -> tuple[str, ...]:
        """Keys of settings of the start that the user's script does not have; none without a script."""
        facts = [fact for fact in self.problem.situation if fact.origin is FactOrigin.SCRIPT]
        current = [fact.name for fact in facts if fact.name.startswith("current.")]
        if self.plan is None or not current:
            return ()
        known = {plain_key(name).rpartition(".")[2] for name in current}
        shape = {fact.name.rpartition(".")[2] for fact in facts}  # lengths and counts of a script are facts
        program, version = self.plan.start.framework, self.plan.start.version
        release = registry(program).at(version) if program in softwares() and version else None
        return tuple(
            item.negation if item.negation and item.value is False else item.key
            for item in self.plan.start.settings
            if item.origin is not Origin.CURRENT
            and not (release is not None and release.look_up(item.key, suggest=False).is_default(item.value))
            and plain_key(item.key).rpartition(".")[2] not in known
            and ((meaning := meaning_of(item.key, program)) is None or meaning.fact not in shape)
        )

    def to_json(self) -> dict[str, Any]:
        """Plain content."""
        return {**self._common_json(), **self._choices_json()}

    def brief_json(self) -> dict[str, Any]:
        """Plain content in short: the whole decision, and the head of the lists behind it.

        How many items a list has stands beside it under ``NAME_count``; what alternatives set stands in their
        blocks to paste; of each change's evidence the weightiest is kept; settings are without their sources;
        what is assumed is said once, and a gain in factors alone.
        """
        short = self.to_json()
        for name in _BEHIND if self.starts else ():
            del short[name]
        short["situation"] = {
            name: {"value": fact["value"], "origin": fact["origin"]}
            for name, fact in short["situation"].items()
        }
        for name, most in _MOST.items():
            listed = short.get(name, ())
            if len(listed) > most:
                short |= {name: listed[:most], f"{name}_count": len(listed)}
        for other in short.get("alternatives", ()):
            for name in ("settings", "because", "recipes"):
                del other[name]
        for change in short.get("changes", ()):
            change["evidence"] = change["evidence"][:1]
            change["gain"] = change["gain"] and {
                name: item for name, item in change["gain"].items() if not name.endswith("_log")
            }
        for holder in (short.get("start", {}), *short.get("changes", ())):
            holder["settings"] = [_bare(item) for item in holder.get("settings", ())]
        return short

    def _choices_json(self) -> dict[str, Any]:
        """The plan, or the configurations of an operator."""
        listed = {"recommendations": [item.to_json() for item in self.recommendations]}
        if self.plan is None:
            return listed
        return {
            **({} if self.problem.workload.kind in _OF_MODELS else listed),
            **self.plan.to_json(),
            **({} if self.separation is None else {"apart": self.separation.to_json()}),
            **({"engines": plain(self.engines)} if self.engines else {}),
            "bottlenecks": [
                {"bottleneck": name, "share": share} for name, share in self.problem.bottlenecks.items()
            ],
            "ceiling": rounded_factor(self.ceiling),
        }

    def _common_json(self) -> dict[str, Any]:
        work, hardware = self.problem.workload, self.problem.hardware
        return {
            "problem": {
                "id": self.problem.id,
                "kind": str(work.kind),
                "operator": work.operator,
                "model": work.model,
                "shape": work.shape.to_json(),
                "precision": work.precision,
                "hardware": hardware.name,
                "count": hardware.count,
                "objective": self.problem.objective.metric,
                "bottlenecks": self.problem.bottlenecks.to_json(),
            },
            "knowledge_version": self.version,
            "abstained": None if self.abstention is None else self.abstention.to_json(),
            "expected_log_regret": {str(k): round(value, 4) for k, value in self.regret.items()},
            "ceiling_factor": rounded_factor(self.ceiling),
            "together": None if self.together is None else self.together.to_json(),
            "notes": list(self.notes),
            "assumed": [fact.to_json() for fact in self.assumed],
            "situation": self.situation.to_json(),
            "support": dict(self.support),
            "findings": [item.to_json() for item in self.findings],
            "unchecked_limits": plain(self.unchecked),
            "refused": [item.to_json() for item in self.refused],
            "neighbours": [dict(item) for item in self.neighbours],
        }

    def tuned_script(
        self,
        script: str = "",
        name: str = "launch.sh",
        new_name: str = "",
        server: int | None = None,
        beside: Beside = lambda _: None,
    ) -> TunedScript:
        """The plan written into a launch script and the files that it names, or as a new one; never run.

        Raises:
            InputError: There is no plan of a model, it does not fit, or the script launches nothing itself.
        """
        from recommender.answers.tuned_script import tuned_script

        if self.plan is None or self.problem.workload.model is None:
            raise InputError("no launch script follows from this answer: it is no plan for a model")
        findings = self.findings if script else ()
        outdated = [item for item in findings if item.successors is not None]
        is_assumed = any(fact.name.startswith("software") for fact in self.assumed)  # another may take them
        moved = [] if is_assumed else outdated
        gone = [item for item in findings if item.is_taken_back or item in moved]
        removed = [key for item in gone if item.setting.line is not None for key in item.removals]
        elsewhere = [
            key
            for item in gone
            if item.setting.line is None or item.setting.file
            for key in (item.removals if item.setting.file else (item.setting.key,))
        ]
        raised = dict(item.instead for item in findings if item.is_rewritten and item.instead)
        raised |= dict(pair for item in moved for pair in item.successors or ())
        bare = [one for one in findings if one.bare and not (is_assumed and one.bare != one.setting.key)]
        raised |= {item.bare: "" for item in bare}
        removed += [item.setting.key for item in bare if item.bare != item.setting.key]
        told = [name for name, fact in self.situation.facts.items() if fact.origin is FactOrigin.TOLD]
        made = tuned_script(
            self.plan,
            script,
            name,
            new_name,
            removed=removed,
            outdated={key for item in moved for key in item.removals},
            elsewhere=elsewhere,
            raised=raised,
            stated={name.removeprefix("current.") for name in told},
            server=server,
            beside=beside,
        )
        left = [
            f"{item.setting.key}: the release is assumed; --software NAME=VERSION tells the one that runs"
            for item in outdated
            if not moved
        ]
        return replace(made, unwritten=(*made.unwritten, *left))

    def __str__(self) -> str:
        """The answer in short: where to start, its alternatives, what to change, what was assumed."""
        work = self.problem.workload
        what = " ".join(word for word in (work.model, work.operator) if word)
        lines = [f"{what} on {self.place}, by {self.problem.objective.metric}"]
        for place, start in enumerate(self.starts):
            first = start.expected[0] if start.expected else None
            expected = (
                "" if first is None else f", {first.metric} {first.value:.4g} {first.unit} ({first.tier})"
            )
            layout = start.layout or start.paste_lines[0]
            lines.append(
                f"{'Or' if place else f'Start with {start.framework} {start.version}:'} {layout}{expected}"
            )
            lines += () if place else (f"  {line}" for line in start.paste_lines)
        if self.abstention is not None:
            lines.append(f"Not recommended, worth a measurement: {self.abstention.reason}")
        for place, item in enumerate(self.recommendations, 1):
            gain = "" if item.gain is None else f", {factor_text(item.gain)}"
            lines.append(f"{place}. {item.title}{gain}: {' '.join(item.flags)}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])
