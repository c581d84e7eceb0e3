"""Siblings: pairs of questions that differ in one part of the model, the chip or the work, and what leaks between them.

    python -m benchmarks.answers.siblings [--n 500] [--quick] [-v]

The seed draws pairs of models of one family, of which one has a part that the other has not (an encoder of images,
experts, a shared expert, latent, sparse or recurrent attention, draft layers, a pooling head), or one model on two
chips, in two number formats, with and without drafts or adapters. Both are asked of ``recommend``. **A leak** is a
setting of the start or of a change that belongs to a part which the situation lacks: by the words of its name
(``WORDS``), which are the benchmark's own, not the product's. **A suspect** is a setting that the shipped recipes
set only where the part is, at least ``FEWEST`` times, though as many of the same
program and role lack it. Refused questions have no settings. The last line is one JSON object.
"""

import itertools
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import data
from benchmarks import harness
from benchmarks.kinds.command_line import CommandLine
from ingest.knowledge.files import read_knowledge
from kg.nouns.knowledge import Model
from kg.nouns.recipe import Role
from recommender.store.shipped_knowledge import recipes

QUICK = 40
FEWEST = 6
"""Recipes with a setting, and recipes without the part, from which their company says something."""
WORDS = {
    "images": r"(?<!mla_)(?<![a-z])(mm|vit|vision|image|video|multimodal|pixels)(?![a-z])",
    "experts": r"(?<![a-z])(moe|experts?|eplb|deepep|grouped_gemm|fused_mc2)(?![a-z])",
    "shared expert": r"shared_expert",
    "latent": r"(?<![a-z])(mla|mlapo)(?![a-z])",
    "sparse": r"(?<![a-z])(dsa|nsa|indexer|sparse_flash|sparse_li|sparse_sfa|index_cache)(?![a-z])",
    "recurrent": r"(?<![a-z])(mamba|gdn|ssm)(?![a-z])",
    "drafts of its own": r"(=mtp|_mtp$|=nextn|^mtp_|_mtp_)",
    "drafts": r"specul|draft|rejection_sampler",
    "pooling": r"pooler|=embed$|=pooling$|is_embedding|classifier_from_token",
    "adapters": r"(?<!kv_)(?<!q_)(?<!o_)(?<![a-z])loras?(?![a-z])",
    "fp8": r"fp8_format|fp8_recipe|quantization=mxfp|quantization=fp8",
    "bfloat16": r"dtype=bf|^bf16",
    "super-node": r"fabric_mem|superpod",
    "quantisation": r"^quantization=",
}  # fmt: skip
"""Names of settings, by the part that they configure."""
SERVED = ("ascend-910b3", "ascend-910c", "ascend-310p3", "h100-sxm", "a100-sxm-80gb")
CHIPS = {
    "ascend-310p3": {"bfloat16", "fp8", "super-node"},
    "ascend-910b3": {"fp8", "super-node"},
    "ascend-910c": {"fp8"},
}
"""Features that chips lack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingSituation:
    """One of a pair.

    Attributes:
        model: Its id.
        chip: Hardware.
        phase: As the product calls it.
        count: Devices.
        lacks: Parts that it has not.
        options: What else is told.
    """

    model: str
    chip: str
    phase: str
    count: int
    lacks: frozenset[str]
    options: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The command line."""
        return (
            "recommend", "--model", self.model, "--hardware", self.chip, "--phase", self.phase,
            "--count", str(self.count), *self.options, "-k", "10", "--json",
        )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class LeakTally:
    """Counts of answers and leaks.

    Attributes:
        asked: Situations.
        answered: Of them, those with a plan.
        settings: Settings of all plans.
        leaks: Leaks by part and setting.
        suspects: The same for suspects.
    """

    asked: int = 0
    answered: int = 0
    settings: int = 0
    leaks: Counter[tuple[str, str]] = field(default_factory=Counter)
    suspects: Counter[tuple[str, str]] = field(default_factory=Counter)


def main() -> None:
    run = harness.read(
        __doc__,
        harness.option("--n", type=int, default=500, help="pairs"),
        harness.option("--verbose", "-v", action="store_true", help="print each leak with its question"),
        quick=f"{QUICK} pairs",
    )
    n = min(run.n, QUICK) if run.quick else run.n
    models = {model.id: model for model in shipped_models()}
    bound = company(models)
    tally = LeakTally()
    with TemporaryDirectory() as folder, CommandLine(Path(folder) / "w", Path(folder) / "c") as line:
        for situation in itertools.chain.from_iterable(pairs(models, run.random(), n)):
            judge(situation, line, bound, tally, verbose=run.verbose)
    for title, found in (("leaks", tally.leaks), ("suspects", tally.suspects)):
        print(f"\n{title}: {sum(found.values())}")
        for (part, key), count in found.most_common(20):
            print(f"{count:5}  {key}: no {part}")
    run.last_line(
        {
            "pairs": n,
            "answered": tally.answered / max(tally.asked, 1),
            "settings": tally.settings,
            "leaks": sum(tally.leaks.values()),
            "suspects": sum(tally.suspects.values()),
        },
        n=tally.asked,
    )


def shipped_models() -> Iterator[Model]:
    """Models that ship and whose configuration was read, so that what they do not name is not there."""
    for name in data.files("models", ".yaml"):
        for noun in read_knowledge(data.text(name), name):
            if isinstance(noun, Model) and (
                _fact(noun, "attention_kind") or noun.architecture in {"decoder", "encoder"}
            ):
                yield noun


def _fact(model: Model, name: str) -> object:
    return next((fact.value for fact in model.facts if fact.name == name), None)


def lacking(model: Model) -> frozenset[str]:
    """Parts that a model has not."""
    attention = str(_fact(model, "attention_kind") or "full")
    has = {
        "images": model.architecture == "multimodal",
        "experts": bool(_fact(model, "experts")),
        "shared expert": bool(_fact(model, "shared_experts")),
        "latent": "latent" in attention or "compressed" in attention,
        "sparse": "sparse" in attention or "compressed" in attention,
        "recurrent": "linear" in attention or model.family == "mamba",
        "drafts of its own": bool(_fact(model, "mtp_layers")),
        "pooling": bool(_fact(model, "pooling")) or model.architecture == "encoder",
    }
    return frozenset(name for name, there in has.items() if not there)


def pairs(
    models: Mapping[str, Model], chance: random.Random, n: int
) -> Iterator[tuple[SiblingSituation, SiblingSituation]]:
    """Pairs that differ in one part."""
    of_family: dict[str, list[Model]] = defaultdict(list)
    for model in models.values():
        of_family[model.family].append(model)
    twins: dict[str, list[tuple[Model, Model]]] = defaultdict(list)
    for members in of_family.values():
        for one, other in itertools.combinations(members, 2):
            apart = lacking(one) ^ lacking(other)
            if apart and len(apart) <= 2 + ("experts" in apart):
                twins[min(apart, key=list(WORDS).index)].append((one, other))
    kinds = [*sorted(twins), "chip", "format", "drafts", "adapters"]
    for number in range(n):
        kind = kinds[number % len(kinds)]
        if kind in twins:
            one, other = chance.choice(twins[kind])
            yield _of_models(one, other, chance)
        else:
            family = chance.choice(sorted(of_family))
            yield _of_work(chance.choice(of_family[family]), kind, chance)


def _of_models(one: Model, other: Model, chance: random.Random) -> tuple[SiblingSituation, SiblingSituation]:
    phase = chance.choice(("serving", "serving", "decode", "prefill", "training"))
    chip = chance.choice(SERVED)
    first = situation(one, chip, phase)
    return first, situation(other, chip, phase)


def _of_work(model: Model, kind: str, chance: random.Random) -> tuple[SiblingSituation, SiblingSituation]:
    """One model, asked twice."""
    chip, other_chip = chance.sample(SERVED, 2)
    phase = chance.choice(("serving", "decode"))
    if kind == "chip":
        return situation(model, chip, phase), situation(model, other_chip, phase)
    if kind == "format":
        plain = situation(model, chip, phase, "--precision", "bf16", lacks={"quantisation"})
        return plain, situation(model, chip, phase, "--precision", "int8")
    if kind == "drafts":
        without = situation(model, chip, phase, "--trait", "speculative=none", lacks={"drafts"})
        return without, situation(model, chip, phase, "--trait", "speculative=any")
    return situation(model, chip, "training"), situation(
        model, chip, "training", "--trait", "lora=true", has={"adapters"}
    )


def situation(
    model: Model, chip: str, phase: str, *options: str, lacks: Iterable[str] = (), has: Iterable[str] = ()
) -> SiblingSituation:
    """A situation with all parts that it lacks."""
    lacks = lacking(model) | CHIPS.get(chip, set()) | {"adapters"} | set(lacks)
    if phase == "training":
        lacks |= {"drafts"}
    return SiblingSituation(
        model=model.id, chip=chip, phase=phase, count=8, lacks=frozenset(lacks - set(has)), options=options
    )


def judge(
    situation: SiblingSituation,
    line: CommandLine,
    bound: Mapping[tuple[str, str], str],
    tally: LeakTally,
    *,
    verbose: bool,
) -> None:
    """Ask one and count what leaks."""
    tally.asked += 1
    reply = line.run(situation.words)
    if reply.code:
        return
    plan = json.loads(reply.out)
    tally.answered += 1
    begun = plan["start"].get("settings", [])
    for item in [*begun, *(one for change in plan["changes"] for one in change["settings"])]:
        key = plain(str(item["key"]))
        written = f"{key}={str(item['value']).lower()}"
        tally.settings += 1
        for part in situation.lacks:
            if part == "quantisation" and item not in begun:
                continue  # other weights are a change that anybody may test
            if re.search(WORDS[part], written):
                tally.leaks[(part, written)] += 1
                if verbose:
                    print(f"leak: {written}: no {part}: {' '.join(situation.words)}")
        role = "train" if situation.phase == "training" else "serve"
        if (part := bound.get((role, key), "")) in situation.lacks:
            tally.suspects[(part, key)] += 1


def company(models: Mapping[str, Model]) -> dict[tuple[str, str], str]:
    """Keys that recipes set only where a part is, by role and key."""
    seen: dict[tuple[str, str], list[frozenset[str]]] = defaultdict(list)
    lack: Counter[tuple[str, str]] = Counter()
    for recipe in recipes():
        model = models.get(recipe.model)
        if model is None:
            continue
        role = "train" if recipe.role in {Role.TRAIN, Role.FINETUNE} else "serve"
        absent = lacking(model)
        lack.update((role, part) for part in absent)
        for key in {plain(item.key) for item in recipe.settings}:
            seen[(role, key)].append(absent)
    found = {}
    for (role, key), absences in seen.items():
        always = [part for part in WORDS if not any(part in absent for absent in absences)]
        always = [part for part in always if lack[(role, part)] >= FEWEST and part != "adapters"]
        if always and len(absences) >= FEWEST:
            found[(role, key)] = max(always, key=lambda part: lack[(role, part)])
    return found


def plain(key: str) -> str:
    """A key in one spelling."""
    return key.lstrip("-").replace("-", "_").lower()


if __name__ == "__main__":
    main()
