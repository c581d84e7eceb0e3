"""Findings on sizes of a launch that must divide, equal or hold one another, and do not."""

import csv
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import data
from kg.nouns.audit import FindingKind, FindingLevel
from kg.nouns.values import Value, parse_json
from kg.terms.dialects import DEGREES, positive, spell, statement
from kg.terms.meanings import OF_VLLM
from recommender.audit.case import AuditCase
from recommender.audit.finding import NO_START, SettingFinding, written
from recommender.cost_model.layout_domain import expert_block

_DEGREES = frozenset({*DEGREES, "etp"})
"""Sizes that are 1 where nothing states them."""
_DEVICES = "devices"
"""A whole whose parts are all of one layout: what mends one of them mends it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRelation:
    """A relation of sizes without which a program refuses to start, or cuts what is sent to it.

    Sizes are named by their fact, or where they have none by the plain name of their setting.

    Attributes:
        rule: Id of the finding.
        programs: Programs that ask for it, and what is built on them; empty for any.
        whole: Size that is divided, or that holds the parts.
        stated: Plain name of the setting by which a launch that builds its model states the whole, and which
            counts before a card; empty for none.
        parts: Sizes whose product is meant.
        blamed: Size whose setting is at fault.
        when: Plain name of a setting, or fact, that must be there; empty for none.
        unless: Plain names of settings (also ``name=value``), facts and programs with which it is not asked.
        must: What the product does: ``divide`` the whole, ``equal`` it, or ``hold``: be no more.
        kind: Of the finding.
        says: What is wrong, by language, with the sizes to fill in.
        costs: What it costs, by language, where the program starts all the same; empty where it does not.
    """

    rule: str
    programs: frozenset[str]
    whole: str
    stated: str
    parts: tuple[str, ...]
    blamed: str
    when: str
    unless: frozenset[str]
    must: str
    kind: FindingKind
    says: Mapping[str, str]
    costs: Mapping[str, str]

    def holds(self, whole: int, product: int) -> bool:
        """True if a whole and the product of its parts go together."""
        match self.must:
            case "divide":
                return whole % product == 0
            case "equal":
                return whole == product
        return product <= whole


def _relation(row: Mapping[str, str]) -> SizeRelation:
    return SizeRelation(
        rule=row["rule"],
        programs=frozenset(row["programs"].split()),
        whole=row["whole"],
        stated=row["stated"],
        parts=tuple(row["parts"].split()),
        blamed=row["blamed"],
        when=row["when"],
        unless=frozenset(row["unless"].split()),
        must=row["must"],
        kind=FindingKind(row["kind"]),
        says={"en": row["says"], "zh": row["says_zh"]},
        costs={"en": row["costs"], "zh": row["costs_zh"]} if row["costs"] else {},
    )


@cache
def relations() -> tuple[SizeRelation, ...]:
    """The relations that ship, by place in their table."""
    return tuple(map(_relation, csv.DictReader(data.text("audit/relations.csv").splitlines())))


def relation_findings(case: AuditCase) -> Iterator[SettingFinding]:
    """Find sizes of a launch that its program refuses together; one a setting."""
    values = {item.key: item.value for item in case.settings if item.is_known}
    read = statement(values, case.program)
    written_as = {name: value for forms in case.forms.values() for name, value in forms.items()}
    names = written_as.keys() | read.program_facts.keys() | {str(case.facts.get("phase") or ""), case.program}
    names |= {f"{name}={value.lower()}" for name, value in written_as.items()}
    sizes = _sizes(case, written_as, read.program_facts)
    blamed: set[str] = set()
    cured: set[tuple[str, str]] = set()
    broken = [
        (one, whole, parts)
        for one in relations()
        if _is_asked(one, case, names)
        and (whole := positive(written_as.get(one.stated)) or sizes.get(one.whole, 0))
        and (parts := _parts(one, sizes))
        and not one.holds(whole, math.prod(parts))
    ]
    broken.sort(key=lambda found: not _cures(found[0], found[1], math.prod(found[2]), sizes))
    for one, whole, parts in broken:
        product = math.prod(parts)
        limit = positive(read.facts.get("batch")) if one.parts == ("batch",) else None
        setting = next(
            (
                item
                for item in case.settings
                if one.blamed in {read.fact_of.get(item.key), *case.forms.get(item, ())}
            ),
            None,
        )
        if setting is None or one.blamed in blamed or (one.rule, one.whole) in cured:
            continue
        blamed.add(one.blamed)
        cured |= {(one.rule, one.whole)} if one.whole == _DEVICES else set()
        words = {**sizes, "whole": whole, "parts": " x ".join(map(str, parts)), "product": product}
        yield SettingFinding(
            rule=one.rule,
            kind=one.kind,
            level=FindingLevel.WARNING if one.costs else FindingLevel.ERROR,
            setting=setting,
            says={language: text.format_map(words) for language, text in one.says.items()},
            cost=one.costs or dict(zip(("en", "zh"), NO_START, strict=True)),
            remedy=_remedy(one, setting.key, _nearest(one, whole, product, sizes), sizes, case.program),
            load_fact="concurrency" if limit and limit <= whole else "",
        )


def _is_asked(one: SizeRelation, case: AuditCase, names: Collection[str]) -> bool:
    """True if a launch of these settings, facts and programs is held to a relation."""
    is_of = one.programs & case.programs.keys() if one.programs else True
    return bool(is_of) and (not one.when or one.when in names) and one.unless.isdisjoint(names)


def _parts(one: SizeRelation, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The sizes whose product is meant; none where one is not told."""
    parts = [sizes.get(name) or (1 if name in _DEGREES else 0) for name in one.parts]
    return tuple(parts) if all(parts) else ()


def _cures(one: SizeRelation, whole: int, product: int, sizes: Mapping[str, int]) -> bool:
    """True if another size at fault alone mends it: what is beside that divides the whole."""
    return (
        one.must == "hold" or one.blamed not in one.parts or whole * sizes.get(one.blamed, 1) % product == 0
    )


def _sizes(case: AuditCase, written_as: Mapping[str, str], stated: Mapping[str, Value]) -> dict[str, int]:
    """Whole numbers of the launch and of its model by fact or plain name, and products of them."""
    told: dict[str, Value] = {
        name: value for name, value in case.facts.items() if not isinstance(value, frozenset)
    }
    lists = {name: _items(parse_json(value)) for name, value in written_as.items() if value[:1] == "["}
    found = {name: positive(value) for name, value in (*written_as.items(), *told.items(), *stated.items())}
    sizes = {name: size for name, size in (*found.items(), *lists.items()) if size}
    prompts = sizes.get("data.train_batch_size", 0)  # of verl, each with some answers
    sizes |= {"answers": prompts * sizes.get("actor_rollout_ref.rollout.n", 1)} if prompts else {}
    copies, rest = divmod(
        sizes.get("devices", 0), math.prod(sizes.get(name, 1) for name in ("tp", "pp", "cp"))
    )
    if micro_batch := sizes.get("micro_batch"):  # what a trainer generates at once
        turns = sizes.get("steps_per_generation") or sizes.get("turns", 1)
        sizes["generated"] = micro_batch * copies * turns
    if at_once := sizes.get("batch"):  # a limit below the load is lifted: then as many run as are sent
        sizes["batch"] = max(at_once, -(-sizes.get("concurrency", 0) // sizes.get("dp", 1)))
    models = case.facts.get("model")
    kinds = models if isinstance(models, frozenset) else frozenset()
    width, world = sizes.get("expert_intermediate", 0), sizes.get("tp", 1)
    if case.checkpoint and (block := expert_block(kinds, case.checkpoint)) and width % block == 0:
        world *= sizes.get("dp", 1) if case.program in OF_VLLM else 1
        sizes |= {"blocks": width // block, "slices": world // sizes.get("ep", 1)}
    nodes = sizes.get("nodes", 1)
    if nodes > 1 and not case.facts.get("unified_bus"):  # a bus joins the servers of a supernode
        sizes["server"] = sizes.get("devices", 0) // nodes
    return sizes if rest else {**sizes, "copies": copies}


def _remedy(one: SizeRelation, key: str, size: int, sizes: Mapping[str, int], program: str) -> str:
    """The setting with a size that goes; what no longer shares a layer becomes pipeline stages."""
    if one.whole == "blocks":
        spelt = spell("ep", program, value=sizes["slices"])
        return "" if spelt is None else spelt[0].key if spelt[1] is True else written(spelt[0].key, spelt[1])
    cure = written(key, size)
    stages = sizes.get("pp", 1) * sizes[one.blamed] // size
    spelt = spell("pp", program, value=stages) if one.whole == "server" else None
    return cure if spelt is None else f"{cure} {written(spelt[0].key, spelt[1])}"


def _items(content: object) -> int:
    """Number of items of a list, or of the first list in it."""
    if not isinstance(content, list):
        return 0
    return _items(content[0]) if content and isinstance(content[0], list) else len(content)


def _nearest(one: SizeRelation, whole: int, product: int, sizes: Mapping[str, int]) -> int:
    """The nearest size that goes: less of a part that is at fault, more of a whole."""
    if one.must != "divide":
        is_part = one.must == "equal" and one.blamed in one.parts
        beside = product // sizes[one.blamed] if is_part else 1
        return product if one.blamed == one.whole else whole // beside
    if one.blamed not in one.parts:
        return next(
            more
            for more in range(sizes[one.blamed], sizes[one.blamed] + product + 1)
            if whole // sizes[one.blamed] * more % product == 0
        )
    size = sizes[one.blamed]
    beside = product // size
    of_devices = one.blamed in _DEGREES or any(
        other.blamed == one.blamed and other.whole == "devices" and other.programs & one.programs
        for other in relations()
    )
    devices = sizes.get("devices", 0) if of_devices else 0
    goes = [less for less in range(size, 0, -1) if whole % (beside * less) == 0] or [1]
    return next((less for less in goes if devices % less == 0), goes[0])
