"""The source of the packages as syntax: modules, public classes and imports, without importing anything."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(sorted(path.parent.name for path in ROOT.glob("*/__init__.py")))


@dataclass(frozen=True)
class SourceModule:
    """One file.

    Attributes:
        path: Where it is, from the root of the repository.
        root: The repository.
    """

    path: Path
    root: Path = ROOT

    @property
    def name(self) -> str:
        """Its dotted name; of a package's ``__init__`` the package's."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def text(self) -> str:
        """The text of the module."""
        return (self.root / self.path).read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.text)

    @property
    def classes(self) -> Iterator[ast.ClassDef]:
        """Its public classes."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node

    @property
    def imports(self) -> Iterator[str]:
        """Dotted names of all modules that it names in an import, those for types alone among them."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (item.name for item in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{item.name}" for item in node.names)

    @property
    def code_lines(self) -> int:
        """Lines that are neither empty nor a comment."""
        lines = (line.strip() for line in self.text.splitlines())
        return sum(bool(line) and not line.startswith("#") for line in lines)


@cache
def modules(*folders: str, root: Path = ROOT) -> tuple[SourceModule, ...]:
    """All files of some folders, the packages' if none is named, sorted."""
    found = (path for folder in folders or PACKAGES for path in (root / folder).rglob("*.py"))
    return tuple(SourceModule(path.relative_to(root), root) for path in sorted(found))
