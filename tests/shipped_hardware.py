"""A few nodes of the shipped hardware tree, for workspaces that need no more: all of it takes seconds to check."""

from functools import cache

import data
from ingest.knowledge.files import read_knowledge
from kg.nouns.knowledge import HardwareProfile
from recommender.store.editor import Editor


def add_hardware(editor: Editor, vendor: str, *devices: str) -> None:
    """Add devices of a vendor by id, with all nodes above them."""
    tree = _tree(vendor)
    nodes: dict[str, HardwareProfile] = {}
    for device in devices:
        above: str | None = device
        while above is not None:
            nodes[above] = tree[above]
            above = tree[above].broader
    editor.add_knowledge(list(nodes.values()))


@cache
def _tree(vendor: str) -> dict[str, HardwareProfile]:
    name = f"hardware/{vendor}.yaml"
    nouns = read_knowledge(data.text(name), name)
    return {noun.id: noun for noun in nouns if isinstance(noun, HardwareProfile)}
