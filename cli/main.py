"""The script ``tunegraph``: makes sure that the program is ours, runs it, and ends with its exit code.

Only the standard library is imported at the top: what else is on the path is checked first, and Ctrl-C
ends the program in one line however early it comes.
"""

from __future__ import annotations

import _thread
import io
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from typer import TyperException


INTERRUPTED = 130
CLOSED = 141
"""As a shell says that a program ended by SIGPIPE."""
SHOWN_FAULTS = 20
ASKED = "_TUNEGRAPH_COMPLETE"
"""The variable by which a shell asks for completions, as typer's scripts set it."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    _open_streams()
    words = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv]  # also in locale C
    sys.argv = [words[0], *language_first(words[1:])]
    interrupts = Interrupts()
    interrupts.listen()
    try:
        sys.exit(_run())
    except KeyboardInterrupt:
        pass
    except Exception:
        if not interrupts.asked:  # else a library has made another exception of it
            raise
    _say("interrupted; what was acknowledged is kept", "")
    sys.exit(INTERRUPTED)


def _open_streams() -> None:
    """Put nothing in place of the standard streams that the caller closed: nobody wants to read them.

    The next file that is opened, such as the workspace's, would take their numbers, and whatever libraries
    and children say would be written into it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115  open as long as the process
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def language_first(words: list[str]) -> list[str]:
    """The words of a command line with ``--lang`` in front, where the program's own options stand.

    >>> language_first(["recommend", "--lang", "zh", "-k", "1"])
    ['--lang', 'zh', 'recommend', '-k', '1']
    """
    end = words.index("--") if "--" in words else len(words)
    for place, word in enumerate(words[:end]):
        name, joint, value = word.partition("=")
        if name == "--lang":
            after = place + 1 if joint else min(place + 2, end)
            stated = [name, value] if joint else words[place:after]
            return [*stated, *words[:place], *words[after:]]
    return words


def _speak(words: list[str]) -> None:
    """Use the language of a command line before it is parsed: of its help, of what is wrong with it.

    Raises:
        InputError: There is no such language, or ``tunegraph.toml`` is broken.
    """
    from cli.text.language import choose_language, use_language
    from tunegraph.user_file import find_user_settings

    option = words[1] if words[:1] == ["--lang"] and words[1:] else os.environ.get("TUNEGRAPH_LANG")
    user = find_user_settings(Path.cwd(), os.environ)
    use_language(choose_language(option, user.language, os.environ))


def _run() -> int:
    try:
        from tunegraph.packages import foreign_packages
    except ImportError as fault:
        stranger = sys.modules.get("tunegraph")
        if stranger is None:  # its own check has refused one of the others
            message, _, hint = str(fault).partition("\n  ")
        else:
            place = next(iter(stranger.__path__), "") if hasattr(stranger, "__path__") else stranger.__file__
            message = f"another package stands in for ours: tunegraph at {place}"
            hint = "take its folder off PYTHONPATH, or use a fresh venv"
        _print(message, hint)  # what is needed to translate it may be the stranger
        return 1
    if (refusal := foreign_packages() or _lost_folder()) is not None:
        _print(*refusal)
        return 1
    if ASKED in os.environ and (text := _values_for_shell()) is not None:
        with suppress(BrokenPipeError):
            print(text, flush=True)
        return 0
    from typer import TyperException

    from cli.app import app
    from kg.errors import TuningError

    with suppress(TuningError):  # a help is to be had all the same; a command says it
        _speak(sys.argv[1:])
    try:
        try:
            code = app(standalone_mode=False)
        finally:
            sys.stdout.flush()
        if code == INTERRUPTED:
            raise KeyboardInterrupt
    except TuningError as error:
        from cli import output
        from kg.hidden_text import harmless

        for note in getattr(error, "__notes__", ()):
            output.note(harmless(note))
        _say(_message(error), error.hint)
        return error.exit_code
    except TyperException as error:  # a word that is wrong on the command line
        _say_misuse(error)
        return error.exit_code
    except BrokenPipeError:  # whoever read the output, such as head, has enough of it
        _forget_output()
        return CLOSED
    except OSError as error:  # without a file name it is the output: full
        _say(f"cannot use {error.filename or 'the output'}: {error.strerror or error}", "")
        _forget_output()
        return 1
    return code or 0


def _lost_folder() -> tuple[str, str] | None:
    """A message and a hint where the folder that this was started in has been removed."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "the folder that you are in is gone", "cd to another one"
    return None


def _values_for_shell() -> str | None:
    """The reply to a shell that completes a value; None where another part of the line is completed."""
    from cli.completion import values_for_shell
    from kg.errors import TuningError

    try:
        return values_for_shell(os.environ)
    except (TuningError, ValueError):  # a broken tunegraph.toml: nobody reads an error here
        return None


def _message(error: Exception) -> str:
    """The message of an error, on one line; of a file with several faults, each on a line of its own."""
    from kg.errors import CaseFormatError

    if not isinstance(error, CaseFormatError) or len(error.faults) < 2:
        return " ".join(str(error).split())
    lines = [f"{error.path}: {len(error.faults)} faults"]
    lines += [f"  {' '.join(str(fault).split())}" for fault in error.faults[:SHOWN_FAULTS]]
    if len(error.faults) > SHOWN_FAULTS:
        lines.append("  ...")
    return "\n".join(lines)


def _say(message: str, hint: str) -> None:
    from cli.output import aside
    from cli.text.language import localised
    from kg.hidden_text import harmless

    _print(harmless(localised(message)), "")
    if hint:
        aside(harmless(f"  {hint}"))


def _say_misuse(error: TyperException) -> None:
    """Print typer's error for a wrong word on the command line, in the user's language."""
    from cli.text.language import localised
    from kg.hidden_text import harmless

    said = io.StringIO()
    error.show(said)  # type: ignore[attr-defined]  # of all that typer raises itself
    for line in harmless(said.getvalue()).splitlines():  # usage and help are in the language
        print(localised(line) if line.startswith(("Try ", "Error: ")) else line, file=sys.stderr)


def _print(message: str, hint: str) -> None:
    print(f"tunegraph: {message}", file=sys.stderr)
    if hint:
        print(f"  {hint}", file=sys.stderr)


def _forget_output() -> None:
    """Discard output that cannot be written, or Python complains about it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


AGAIN_S = 0.01
"""After this the main thread has left the callback that swallowed the interrupt."""


class Interrupts:
    """Records requests to stop this process.

    Attributes:
        asked: True from the first Ctrl-C on.
    """

    def __init__(self) -> None:
        self.asked = False

    def listen(self) -> None:
        """Notice Ctrl-C from now on, unless whoever started the process has it ignored."""
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._stop)
        sys.unraisablehook = self._unraisable

    def _stop(self, _number: int, frame: FrameType | None) -> None:
        self.asked = True
        if _is_within(frame, self._unraisable.__code__):  # nobody would hear of it there either
            self._again()
        else:
            raise KeyboardInterrupt

    def _unraisable(self, fault: Any) -> None:
        if issubclass(fault.exc_type, KeyboardInterrupt):
            self._again()
        else:
            sys.__unraisablehook__(fault)

    def _again(self) -> None:
        _thread.start_new_thread(_interrupt_later, ())  # a threading.Timer waits until it runs


def _interrupt_later() -> None:
    time.sleep(AGAIN_S)
    _thread.interrupt_main()


def _is_within(frame: FrameType | None, code: CodeType) -> bool:
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None
