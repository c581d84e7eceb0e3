"""The recipes of a workspace, chosen by what they are for."""

from difflib import get_close_matches

from kg.errors import UnknownEntityError
from kg.nouns.recipe import ROLES, Recipe, Role
from kg.triples.graph import GraphStore
from kg.triples.hardware_tree import HardwareTree
from kg.triples.names import Names, normalise
from kg.triples.serialisation import all_of


def recipes(
    store: GraphStore,
    names: Names,
    tree: HardwareTree,
    *,
    model: str = "",
    hardware: str = "",
    role: str = "",
    framework: str = "",
    family: str = "",
    identifier: str = "",
    like: str = "",
) -> list[Recipe]:
    """Recipes that fit all that is given, by family and id.

    Args:
        store: The graph.
        names: Its names.
        tree: Its hardware tree.
        model: Any name of a model.
        hardware: Any name of hardware, or of a maker; recipes for it, for what it is part of and for what is
            part of it.
        role: As in :class:`kg.nouns.recipe.Role`.
        framework: Such as ``"vllm-ascend"``.
        family: Family of recipes.
        identifier: Id of one recipe.
        like: Text that their ids hold, in any spelling of :func:`kg.triples.names.normalise`.

    Raises:
        UnknownEntityError: A name is unknown, or no recipe has it; the hint has the nearest.
    """
    wanted = normalise(like)
    found = [item for item in all_of(store, Recipe) if wanted in normalise(item.id)]
    if model:
        found = _with(found, "model", names.model(model).id)
    if role:
        role = ROLES.get(role, role)
        if role not in set(Role):
            raise UnknownEntityError(f"no role {role!r}", hint=f"one of: {', '.join(Role)}")
        found = [item for item in found if item.role == role]
    for name, value in (("framework", framework), ("family", family), ("id", identifier)):
        if value:
            found = _with(found, name, value)
    if hardware:
        node, is_known = names.hardware_or_slug(hardware)
        if not is_known:
            names.hardware(hardware)  # raises with the nearest names
        around = _around(tree, node)
        found = [
            item
            for item in found
            if item.hardware and (item.hardware in around or node in tree.path(item.hardware))
        ]
    return sorted(found, key=lambda item: (item.family, item.id))


def _with(found: list[Recipe], name: str, value: str) -> list[Recipe]:
    kept = [item for item in found if getattr(item, name) == value]
    if not kept:
        known = sorted({str(getattr(item, name)) for item in found})
        near = get_close_matches(value, known, n=5) or known[:10]
        hint = f"recipes are there for: {', '.join(near)}" if near else "take some in: tunegraph ingest FILE"
        raise UnknownEntityError(f"no recipe of {name} {value!r}", hint=hint)
    return kept


def _around(tree: HardwareTree, node: str) -> set[str]:
    """A node and what it is part of, but for the vendor."""
    around = set(tree.path(node))
    return around - {vendor for vendor in around if len(tree.path(vendor)) == 1}
