"""Puts the ready-made workspace into a wheel as it is built; an editable installation has none."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ReadyMadeHook(BuildHookInterface):  # type: ignore[misc]  # the builder has no types
    """Makes the workspace with the sources that go into the wheel, so that it is never stale."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make it, and have it taken in as ``data/ready/workspace.zip``."""
        if version == "editable":
            return
        self._place = TemporaryDirectory()
        archive = Path(self._place.name) / "workspace.zip"
        paths = [self.root, os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        command = [sys.executable, "-m", "tools.shipping.ready_workspace", str(archive)]
        subprocess.run(command, cwd=self.root, env=environment, check=True)
        build_data["force_include"][str(archive)] = "data/ready/workspace.zip"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Delete what the wheel has now."""
        if version != "editable":
            self._place.cleanup()
