"""``data/recipes`` from recipe JSONL files, a file for each family.

    python -m tools.ship_recipes FILE.. [--out data/recipes]

The files are read through the door that ``tunegraph ingest`` uses, so what is no recipe is refused with its
line. Of two recipes of one case (source page, role, title, model and chip) the first given is kept, and of
two that say the same. Names of models and hardware become ids of the shipped knowledge. Equal files give
equal bytes. The table that it prints stands in ``docs/limits.md``.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from benchmarks.harness import option, parse
from benchmarks.worlds.shipped import ShippedKnowledge
from ingest.formats.recipes.recipe_jsonl import write
from ingest.reading import FileReport, read
from kg.nouns.recipe import Recipe
from kg.triples.names import slug

LICENCES = {
    "vllm-project/vllm-ascend": "Apache-2.0",
    "Ascend/sglang": "Apache-2.0",
    "Ascend/MindSpeed-LLM": "BSD-3-Clause",
    "vllm-project/recipes": "Apache-2.0",
}
"""As the repositories' LICENSE files say."""

FAMILIES = {
    "deepseek-v3-2": "deepseek-v3.2",
    "gemma-4": "gemma4",
    "glm-5": "glm5",
    "kimi-k2": "kimi-k2",
    "qwen3-235b": "qwen3-moe",
    "qwen3-30b": "qwen3-moe",
    "qwen3-8-27b": "qwen3.5-dense",
    "qwen3-vl-235b": "qwen3-vl-moe",
    "qwq": "qwen2.5",
}
"""Family of models whose ids begin so, where a file names none: models of one design stay together."""


def shipped(paths: Iterable[Path]) -> list[Recipe]:
    """The recipes to ship, by family and id.

    Raises:
        SystemExit: A line is no recipe.
    """
    kept: dict[tuple[str, ...], Recipe] = {}
    faults = 0
    for path in paths:
        for item in read([path], ShippedKnowledge.load().names):
            if isinstance(item, FileReport):
                faults += item.bad
                for fault in item.faults:
                    print(f"{path}: {fault}", file=sys.stderr)
                for guess in item.guesses:
                    print(f"{path}: {guess}", file=sys.stderr)
            elif isinstance(item, Recipe):
                case = (
                    item.source.url.partition("#")[0],
                    *(item.role.value, item.title, str(item.devices), item.model, item.hardware),
                )
                kept.setdefault(case, _licensed(item))
    if faults:
        raise SystemExit(f"{faults} lines are no recipes; nothing was written")
    different = {
        (r.role, r.model, r.hardware, r.devices, r.layout, r.context, r.settings): r
        for r in reversed(kept.values())
    }
    return sorted(_named_alike(different.values()), key=lambda item: (item.family, item.id))


def _licensed(item: Recipe) -> Recipe:
    repository = "/".join(item.source.url.split("/")[3:5])
    licence = item.source.licence or LICENCES.get(repository, "")
    return replace(item, source=replace(item.source, licence=licence))


def _named_alike(items: Iterable[Recipe]) -> list[Recipe]:
    """One family for each model: the one that its recipes name most often."""
    everything = list(items)
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item in everything:
        if item.family != item.model:
            votes[item.model][item.family] += 1
    families = {model: min(count, key=lambda name: (-count[name], name)) for model, count in votes.items()}
    return [replace(item, family=families.get(item.model) or _begins(item.model)) for item in everything]


def _begins(model: str) -> str:
    return next((family for start, family in FAMILIES.items() if model.startswith(start)), model)


def main() -> None:
    """Write the files, and remove those of families that are gone."""
    given = parse(
        __doc__,
        option("paths", nargs="+", type=Path),
        option("--out", type=Path, default=Path("data/recipes")),
    )
    families: defaultdict[str, list[Recipe]] = defaultdict(list)
    for item in shipped(given.paths):
        families[slug(item.family)].append(item)
    given.out.mkdir(parents=True, exist_ok=True)
    for old in given.out.glob("*.jsonl"):
        old.unlink()
    for name, recipes in families.items():
        (given.out / f"{name}.jsonl").write_text("".join(write(recipes)), encoding="utf-8")
    print(f"{sum(map(len, families.values()))} recipes of {len(families)} families")


if __name__ == "__main__":
    main()
