"""Stands in for packages that only machines with a device have: a scheduler beside them can then be imported.

Nothing of them is used: whatever is asked of such a package is an empty class, and its calls give back what
they decorate.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator, MutableSequence

KNOWN = frozenset({"torchcodec", "torchaudio", "torch", "transformers", "numpy", "triton"})
"""Packages whose absent parts other packages ask for, and of which they must hear the truth."""


class _Nothing(type):
    def __getattr__(cls, name: str) -> type[Nothing]:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class Nothing(metaclass=_Nothing):
    """A member of an absent package, which accepts everything."""

    def __init__(self, *given: object, **named: object) -> None:
        """Take anything."""

    def __call__(self, *given: object, **_: object) -> object:
        """Give back what is decorated."""
        return given[0] if len(given) == 1 and callable(given[0]) else Nothing()

    def __getattr__(self, name: str) -> Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing()

    def __iter__(self) -> Iterator[object]:
        """Hold nothing."""
        return iter(())


class _AbsentModule(types.ModuleType):
    __path__: MutableSequence[str] = []  # noqa: RUF012  as of every module

    def __getattr__(self, name: str) -> type[Nothing]:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing


class AbsentImports(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what nobody else does, for one package alone.

    Args:
        package: The package that asks.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(
        self, fullname: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A module of an absent package, if the package asks for it and it is none of its own."""
        root = fullname.partition(".")[0]
        if root in KNOWN or root == self._package or root in sys.stdlib_module_names:
            return None
        frame = sys._getframe(1)  # who imports is known nowhere else
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back  # type: ignore[assignment]  # the outermost has none
        if frame is None or f"/{self._package}/" not in frame.f_code.co_filename:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """An empty module."""
        return _AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Run nothing."""
        module.__file__ = "absent"
