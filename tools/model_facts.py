r"""An entry of ``data/models`` from a model's ``config.json``.

    python -m tools.model_facts config.json --id glm-5-2 --label GLM-5.2 --family glm \
        --architecture moe-decoder --source URL

prints the YAML to add. The address is that of a page where a stranger can open the same file.
"""

import json
from collections.abc import Mapping

from benchmarks.harness import option, parse, place
from ingest.knowledge.files import ARCHITECTURES
from ingest.questions.checkpoints.model_facts import structure
from ingest.questions.launches.model_config import SIZES, TEXT_PARTS


def facts_of(config: Mapping[str, object]) -> dict[str, int | str]:
    """Facts that a configuration states, by the names of ``docs/knowledge-format.md``.

    A width that no layer uses is left out: that of the dense block of a network of experts alone, those of
    grouped heads where one latent row is cached.
    """
    part = next((config[name] for name in TEXT_PARTS if isinstance(config.get(name), dict)), config)
    described: Mapping[str, object] = part if isinstance(part, dict) else config
    facts: dict[str, int | str] = {}
    for fact, keys in SIZES.items():
        value = next((described[key] for key in keys if described.get(key)), None)
        if isinstance(value, int) and not isinstance(value, bool) and fact != "image_size":
            facts[fact] = value
    facts |= structure(described)
    if "latent" in str(facts["attention_kind"]):
        facts.pop("kv_heads", None)
        facts.pop("head_dim", None)
    elif "head_dim" not in facts:
        hidden, heads = facts.get("hidden_size"), facts.get("attention_heads")
        if isinstance(hidden, int) and isinstance(heads, int) and hidden % heads == 0:
            facts["head_dim"] = hidden // heads
    if "experts" not in facts:
        return {name: value for name, value in facts.items() if name not in _OF_EXPERTS}
    if "shared_intermediate_size" in facts:
        facts.setdefault("shared_experts", 1)
    if not facts.get("dense_layers"):
        inner = facts.pop("intermediate_size", None)
        if inner is not None:
            facts.setdefault("moe_intermediate_size", inner)
    return facts


_OF_EXPERTS = {"dense_layers", "moe_intermediate_size", "experts_per_token", "shared_experts"}


def main() -> None:
    """Print an entry."""
    named = (option(f"--{name}", required=True) for name in ("id", "label", "family", "source"))
    kind = option("--architecture", required=True, choices=ARCHITECTURES)
    given = parse(__doc__, place("config"), *named, kind)
    facts = facts_of(json.loads(given.config.read_text(encoding="utf-8")))
    print(f'sources:\n  {given.id}-config: {{title: {given.label} config.json, url: "{given.source}"}}')
    print(f"models:\n  - id: {given.id}\n    family: {given.family}\n    architecture: {given.architecture}")
    print(f"    label: {{en: {given.label}}}\n    facts:")
    for name, value in facts.items():
        print(f"      {name}: {{value: {value}, source: {given.id}-config, kind: config, confidence: high}}")


if __name__ == "__main__":
    main()
