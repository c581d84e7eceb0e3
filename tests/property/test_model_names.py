"""A model is found by its name however it is written, where it lies, and in whatever format its weights are."""

from functools import cache
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import data
from benchmarks.worlds.shipped import ShippedKnowledge
from ingest.knowledge.files import read_knowledge
from kg.nouns.knowledge import Model
from kg.terms.model_name import read_name
from kg.triples.names import Names

FORMATS = {
    "AWQ": "w4a16", "GPTQ-Int4": "w4a16", "gptq-int8": "w8a16", "bnb-4bit": "w4a16", "W8A8": "int8",
    "w8a8-mtp-QuaRot": "int8", "w4a8": "w4a8", "FP8": "fp8", "FP8-dynamic": "fp8", "NVFP4": "nvfp4", "MXFP4": "mxfp4",
    "BF16": "bfloat16", "Int8": "int8", "quantized.w4a16": "w4a16", "AWQ-INT4": "w4a16",
}  # fmt: skip
"""Endings that checkpoints on public hubs carry, and what their cards say that the weights are."""

ROLES = (
    "Instruct",
    "Chat",
    "it",
    "Base",
    "Thinking",
    "Reasoning",
    "Instruct-2507",
    "chat-hf",
    "Preview",
    "0528",
)
PLACES = (
    "{}",
    "acme/{}",
    "/data/models/{}",
    "./{}/",
    "~/.cache/huggingface/hub/models--acme--{}/snapshots/" + "0a" * 20,
)
SEPARATORS = ("-", "_", " ")


@cache
def shipped() -> tuple[Names, tuple[tuple[str, str], ...]]:
    """The shipped models, and each of their names with its id."""
    named = []
    for path in sorted(Path(data.__file__).parent.glob("models/*.yaml")):
        content = path.read_text(encoding="utf-8")
        for noun in read_knowledge(content, path.name):
            if isinstance(noun, Model):
                named += [(name, noun.id) for name in (noun.labels["en"], *noun.aliases) if name.isascii()]
    return ShippedKnowledge.load().names, tuple(named)


@settings(max_examples=40)
@given(st.data())
def test_a_shipped_model_is_found_by_every_writing_of_its_name(drawn: st.DataObject) -> None:
    names, named = shipped()
    name, model = drawn.draw(st.sampled_from(named))
    ending = drawn.draw(st.sampled_from(("", *FORMATS)))
    role = drawn.draw(st.sampled_from(("", *ROLES)))
    said = "-".join(filter(None, (name, role, ending)))
    separator = drawn.draw(st.sampled_from(SEPARATORS))
    said = said.replace("-", separator).replace(" ", separator)
    said = drawn.draw(st.sampled_from((said, said.lower(), said.upper())))
    assume(not (role and names.model_ids(f"{name}-{role}")))  # another model has that very name
    place = drawn.draw(st.sampled_from(PLACES))
    assume("/" not in name and not read_name(name).weights)
    found = names.model(place.format(said))
    assert found.id == model
    if ending:
        assert found.weights == FORMATS[ending]
