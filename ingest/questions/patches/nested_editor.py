"""Edits of a launch that stands in a text within a text: a shell's text in quotes, a command in a manifest.

The launch is edited as a script of its own, what changed is put in its place, and the whole is read again.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from ingest.questions.launches.script import place_of_text
from ingest.questions.launches.shell import read_script
from ingest.questions.launches.variables import CONTAINERS
from ingest.questions.patches.regions import shell_region
from ingest.questions.patches.script_proof import environment_of, is_proven
from ingest.questions.patches.shell_editor import ELSEWHERE, NEW_LINE, SettingEdit, ShellEditor


class LaunchEditor(Protocol):
    """Edits one launch, one setting at a time, each proven before it is kept."""

    @property
    def text(self) -> str:
        """The whole text, with the edits."""

    @property
    def edits(self) -> int:
        """Number of settings that were written."""

    @property
    def commands(self) -> int:
        """Number of commands that are read again."""

    def make(self, edit: SettingEdit) -> str:
        """Make an edit; why it could not be made, or an empty text."""


class LaunchHolder(Protocol):
    """A text that holds a launch in a form of its own, as it reads."""

    @property
    def commands(self) -> int:
        """Number of commands that are read again."""

    @property
    def refusal(self) -> str:
        """The reason that an edited text is not as it should be."""

    def within(self, *, filled: bool = False) -> LaunchEditor | None:
        """Edits of the launch as a script of its own, or with what the text around it fills in."""

    def put(self, script: str) -> str | None:
        """The text with another script; None where that cannot be written."""

    def is_proven(self, text: str, script: str) -> bool:
        """True if a text reads as this one, but for the launch, which reads as an edited script."""

    def with_variable(self, edit: SettingEdit) -> tuple[str, str] | None:
        """The text with a variable of what holds the launch, and why not; None: the script has it to do."""


class NestedEditor:
    """Edits a launch that is held in another text."""

    def __init__(self, text: str, read: Callable[[str], LaunchHolder]) -> None:
        self.text = text
        self.read = read
        self.holder = read(text)
        self.edits = 0

    @property
    def commands(self) -> int:
        """Number of commands that are read again."""
        return self.holder.commands

    def make(self, edit: SettingEdit) -> str:
        """Make an edit; why it could not be made, or an empty text."""
        outer = None if edit.is_flag else self.holder.with_variable(edit)
        if outer is not None:
            return outer[1] or self._keep(outer[0])
        editor, filled = self.holder.within(), self.holder.within(filled=True)
        if editor is None or filled is None:
            return ELSEWHERE
        if (reason := editor.make(edit)) or not editor.edits:
            return reason
        text = None if filled.make(edit) else self.holder.put(editor.text)
        if text is None:
            return ELSEWHERE
        return self._keep(text) if self.holder.is_proven(text, filled.text) else self.holder.refusal

    def _keep(self, text: str) -> str:
        self.edits += text != self.text
        self.text, self.holder = text, self.read(text)
        return ""


class QuotedLaunch:
    """A launch in a text that a command of a script gives to another shell: ``bash -c '...'``."""

    refusal = ELSEWHERE

    def __init__(self, text: str, path: Sequence[int]) -> None:
        self.text = text
        self.path = path
        self.script = read_script(text)
        self.words = self.script.commands[path[0]].words
        names = [word.rpartition("/")[2] for word in self.words]
        self.place = place_of_text(self.words, names) or 0
        self.is_container = names[0] in CONTAINERS
        span = self.script.commands[path[0]].spans[self.place]
        self.region = shell_region(text, *span, self.words[self.place])

    @property
    def commands(self) -> int:
        """Number of commands that are read again."""
        return len(self.script.commands)

    def within(self, *, filled: bool = False) -> LaunchEditor | None:
        """Edits of the inner text, as it stands or as the other shell gets it."""
        if self.region is None:
            return None
        joint = " " if self.region.quote == 'sh"' else ""  # in which a line end behind a backslash is none
        return script_editor(self.words[self.place] if filled else self.region.says, self.path[1:], joint)

    def put(self, script: str) -> str | None:
        """The text with another one in the quotes."""
        return None if self.region is None else self.region.put(script)

    def is_proven(self, text: str, script: str) -> bool:
        """True if all commands read as before, and the text in the quotes as it is edited by itself."""
        expected = (*self.words[: self.place], script, *self.words[self.place + 1 :])
        return is_proven(self.script, read_script(text), self.path[0], expected, {})

    def with_variable(self, edit: SettingEdit) -> tuple[str, str] | None:
        """The text with a variable that reaches the other shell; what it sets itself its text has to do."""
        if not self.is_container and edit.name not in environment_of(self.script.commands[self.path[0]]):
            return None
        outer = ShellEditor(self.text, self.path[0])
        reason = outer.make(edit)
        return outer.text, reason


def script_editor(text: str, path: Sequence[int], joint: str = "") -> LaunchEditor:
    """Edits of the launch at a place in a script.

    Args:
        text: The script.
        path: Number of its command, and further in, in texts that other shells run.
        joint: What stands before words that are added; by default what goes with the lines of the text.
    """
    if len(path) > 1:
        return NestedEditor(text, lambda one: QuotedLaunch(one, path))
    return ShellEditor(text, path[0], joint or (NEW_LINE if "\n" in text.strip() else " "))
