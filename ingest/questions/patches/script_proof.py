"""The proof of an edit: every command of a script is as it was, but for what was to change in the launch."""

from collections.abc import Iterator, Mapping, Sequence

from ingest.questions.launches.script import Script, ShellCommand
from ingest.questions.launches.variables import reaching


def is_proven(
    before: Script,
    after: Script,
    launch: int,
    expected: tuple[str, ...],
    variables: Mapping[str, str | None],
) -> bool:
    """True if every command of a script is as it was, but for the words and variables of the launch.

    Args:
        before: The script.
        after: The script with an edit.
        launch: Number of the launch among the commands.
        expected: Words of the launch behind the edit.
        variables: Values that variables of the launch have then; None for what it no longer has.
    """
    if len(after.commands) != len(before.commands) or after.notes != before.notes:
        return False
    launched = environment_of(before.commands[launch])
    for number, (old, new) in enumerate(zip(before.commands, after.commands, strict=True)):
        held, now = environment_of(old), environment_of(new)
        words = old.words
        if number == launch:
            wanted = {**held, **variables}
            if now != {name: value for name, value in wanted.items() if value is not None}:
                return False
            words = expected
            if variables:  # those of a container or of env are words too
                words = tuple(_with_variables(old.words, new.words, variables))
        else:
            changed = [name for name in now.keys() | held.keys() if now.get(name) != held.get(name)]
            if not all(
                name in variables
                and held.get(name) == launched.get(name)
                and now.get(name) == variables[name]
                for name in changed
            ):  # a variable that reaches others too is changed for them as well
                return False
        if new.words != words:
            return False
    return True


def environment_of(command: ShellCommand) -> dict[str, str]:
    """The variables that reach a command."""
    names = [word.rpartition("/")[2] for word in command.words]
    return dict(reaching(command.words, names, command.environment))


def _with_variables(
    before: Sequence[str], after: Sequence[str], variables: Mapping[str, str | None]
) -> Iterator[str]:
    """The words before, with the variables that a container or ``env`` is given among them, or without."""
    given = {f"{name}={value}" for name, value in variables.items() if value is not None}
    gone = tuple(f"{name}=" for name, value in variables.items() if value is None)
    rest: list[str] = []
    for word in before:
        if word.startswith(gone):
            if rest[-1:] in (["-e"], ["--env"]):
                rest.pop()
        else:
            rest.append(word)
    for place, word in enumerate(after):
        if word in given and rest and rest[0].partition("=")[0] == word.partition("=")[0]:
            rest.pop(0)
            yield word
        elif word in given or (word == "-e" and after[place + 1 : place + 2] and after[place + 1] in given):
            own = after[place + 1].partition("=")[0] if word == "-e" else ""
            if rest[:1] == [word] and own in {"", "".join(rest[1:2]).partition("=")[0]}:
                rest.pop(0)
            yield word
        elif rest and rest[0] == word:
            yield rest.pop(0)
    yield from rest
