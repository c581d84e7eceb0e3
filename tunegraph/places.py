"""The workspace, cache and defaults of a user, where no option names others."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kg.errors import InputError
from tunegraph.user_file import UserSettings, absolute, find_user_settings, home_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kg.nouns.own_settings import OwnSettings
    from recommender.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of a user, and the user's settings.

    Attributes:
        workspace: The workspace directory.
        cache: Where the text model's ONNX file is kept.
        user: What ``tunegraph.toml`` says.
    """

    workspace: Path
    cache: Path
    user: UserSettings = field(default_factory=UserSettings)

    @classmethod
    def resolve(cls, workspace: Path | None, environment: Mapping[str, str]) -> Places:
        """The chosen workspace, else ``TUNEGRAPH_WORKSPACE``, else the file's, else the user's own.

        Raises:
            InputError: ``tunegraph.toml`` is broken.
        """
        user = find_user_settings(Path.cwd(), environment)
        home = home_folder(environment)
        if sys.platform == "win32":
            base = Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
            data, cache = base / "tunegraph", base / "tunegraph" / "cache"
        elif sys.platform == "darwin":
            data = home / "Library" / "Application Support" / "tunegraph"
            cache = home / "Library" / "Caches" / "tunegraph"
        else:
            data = (absolute(environment.get("XDG_DATA_HOME")) or home / ".local" / "share") / "tunegraph"
            cache = (absolute(environment.get("XDG_CACHE_HOME")) or home / ".cache") / "tunegraph"
        named = environment.get("TUNEGRAPH_WORKSPACE")
        return cls(
            workspace or (Path(named) if named else user.workspace_path or data / "workspace"),
            Path(environment.get("TUNEGRAPH_CACHE") or cache),
            user,
        )

    def use_own_settings(self) -> OwnSettings | None:
        """Let the user's own entries of the settings registry win; None where there are none.

        Raises:
            InputError: ``tunegraph.toml`` names a folder that is not there.
        """
        if (folder := self.user.settings_path) is None:
            return None
        from kg.terms.setting_registry import use_own

        if not folder.is_dir():
            raise InputError(f"{self.user.path}: settings: no folder {folder}")
        return use_own(folder)

    def make(self, say: Callable[[str], None], on_step: Callable[[str], None] = lambda _: None) -> None:
        """Make the workspace from the shipped knowledge where there is none, and say so.

        Args:
            say: Called with what a user is to know.
            on_step: Called with what begins, for a line that moves.

        Raises:
            WorkspaceError: The directory holds something else, or cannot be written.
        """
        from recommender.workspace.workspace import Workspace

        if Workspace.exists(self.workspace):
            return
        say(f"Making a workspace from the shipped knowledge at {self.workspace} ...")
        Workspace.create(self.workspace, cache=self.cache, on_step=on_step)
        on_step("")
        with Workspace.open(self.workspace, cache=self.cache) as made:
            if made.snapshot.manifest.get("encoder") is None:
                from embeddings.text_encoder import INSTALL_HINT

                say(
                    "No text model here: similarity rests on numbers and names alone. "
                    f"To add it: {INSTALL_HINT}; then tunegraph workspace renew --text-model."
                )

    def open(self, say: Callable[[str], None], on_step: Callable[[str], None] = lambda _: None) -> Workspace:
        """Open the workspace for reading; it is made where there is none, see :meth:`make`.

        Raises:
            WorkspaceError: It is damaged, of another version, or cannot be made.
        """
        from recommender.workspace.workspace import Workspace

        self.make(say, on_step)
        return Workspace.open(self.workspace, cache=self.cache)
