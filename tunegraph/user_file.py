"""The user's file ``tunegraph.toml``: the workspace, the language, and what questions are usually about."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

from kg.errors import InputError

FILE = "tunegraph.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSettings:
    """Settings of a user, all of them defaults that an option overrides.

    Attributes:
        path: The file that they stand in; None if there is none.
        workspace: The workspace directory; one that is not absolute is beside the file.
        hardware: Device or server that questions are about.
        count: Number of devices.
        server: What the devices sit in.
        framework: Program that models run in.
        version: Its release.
        language: Language of what is printed.
        settings: Folder of the user's own entries of the settings registry; beside the file likewise.
    """

    path: Path | None = None
    workspace: str = ""
    hardware: str = ""
    count: int | None = None
    server: str = ""
    framework: str = ""
    version: str = ""
    language: str = ""
    settings: str = ""

    @property
    def workspace_path(self) -> Path | None:
        """The workspace directory as a path; None if the file names none."""
        return self._beside(self.workspace)

    @property
    def settings_path(self) -> Path | None:
        """The folder of own settings as a path; None if the file names none."""
        return self._beside(self.settings)

    def _beside(self, name: str) -> Path | None:
        return self.path.parent / Path(name).expanduser() if name and self.path is not None else None


KEYS = tuple(field.name for field in fields(UserSettings) if field.name != "path")


def find_user_settings(folder: Path, environment: Mapping[str, str]) -> UserSettings:
    """Settings of the nearest file: in the folder or above it, else in the user's configuration folder.

    Raises:
        InputError: The file is broken.
    """
    home = home_folder(environment)
    configured = (absolute(environment.get("XDG_CONFIG_HOME")) or home / ".config") / "tunegraph"
    for place in (folder, *folder.parents, configured):
        if (path := place / FILE).is_file():
            return read_user_settings(path)
    return UserSettings()


def absolute(name: str | None) -> Path | None:
    """A folder that a variable names; None where it names none, or one beside wherever the user is.

    Source:
        XDG Base Directory Specification: relative paths are invalid, and are ignored.
    """
    return Path(name) if name and Path(name).is_absolute() else None


def home_folder(environment: Mapping[str, str]) -> Path:
    """The user's home; the root folder where the system knows none, and nothing can be written."""
    if (told := absolute(environment.get("HOME"))) is not None:
        return told
    with suppress(ImportError, KeyError):  # as the system has it: Path.home() reads HOME again
        import pwd

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    with suppress(RuntimeError):
        return absolute(str(Path.home())) or Path("/")
    return Path("/")


def read_user_settings(path: Path) -> UserSettings:
    """Settings of one file.

    Raises:
        InputError: It cannot be read, is no TOML, or has a key or a value that means nothing; with the line.
    """
    from kg.nouns.values import load_toml  # only who has a file waits for it

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None
    try:
        content = load_toml(text)
    except ValueError as error:
        raise InputError(
            f"{path}: {_place(str(error), text)}", hint="expected lines such as count = 8"
        ) from None
    for name, value in content.items():
        if name not in KEYS:
            raise InputError(
                f"{path}: line {_line_of(name, text)}: unknown key {name}", hint=f"keys: {', '.join(KEYS)}"
            )
        is_count = isinstance(value, int) and not isinstance(value, bool) and value > 0
        if not (is_count if name == "count" else isinstance(value, str) and value):
            expected = "a number of devices" if name == "count" else "a text in quotes"
            raise InputError(f"{path}: line {_line_of(name, text)}: {name} = {value!r} is not {expected}")
    return UserSettings(path=path, **content)


def write_user_settings(path: Path, settings: UserSettings, remarks: Mapping[str, str]) -> None:
    """Write settings to a new file.

    Args:
        path: The file.
        settings: What to write; what is empty is left out.
        remarks: Where each setting is from, by its name; a comment behind it.

    Raises:
        InputError: The file is there already, or cannot be written.
    """
    lines = ["# Defaults of tunegraph; an option of the command line overrides each of them.\n"]
    for name in KEYS:
        if value := getattr(settings, name):
            text = (
                str(value) if name == "count" else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
            )
            remark = f"  # {' '.join(remarks[name].split())}" if name in remarks else ""
            lines.append(f"{name} = {text}{remark}\n")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(lines)
    except FileExistsError:
        raise InputError(f"{path}: is there already", hint="edit it, or delete it first") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _place(message: str, text: str) -> str:
    """Line and word of what is no TOML, and why."""
    found = re.search(r"\(at line (\d+), column (\d+)\)", message)
    reason = re.sub(r"(?<!\s)\s*+\(at [^()]*+\)$", "", message)
    lines = text.splitlines() or [""]
    line, column = (int(found[1]), int(found[2])) if found else (len(lines), 1)
    source = lines[min(line, len(lines)) - 1]
    start = source.rfind(" ", 0, min(column, len(source))) + 1
    word = (source[start:].split() or source.split() or [""])[0]
    return f"line {line}, at {word!r}: {reason}"


def _line_of(name: str, text: str) -> int:
    """The line that a key stands in."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf"\s*+\[?\[?\s*+[\"']?{re.escape(name)}[\"']?\s*[=.\]]", line):
            return number
    return 1
