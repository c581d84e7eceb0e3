"""Commands of a shell script with their variables filled in. Nothing is executed.

Understood: quotes, line continuations, comments, ``NAME=value``, ``export``, arrays, ``$NAME``,
``${NAME:-default}``, ``${NAME[@]}`` and whole-number arithmetic. Conditions and loops are not followed:
every branch is read, and what is set later wins. What a command would print is not known.
By hand, as bashlex, which parses shell too, is under the GPL 3, and this package under Apache 2.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise

from ingest.files.arithmetic import whole_number
from ingest.questions.launches.script import UNKNOWN, Script, ShellAssignment, ShellCommand

_PARTS = re.compile(r"(?:\0[^\0]*\0|\S)+")
_HERE = re.compile(r"<<-?\s*['\"]?([A-Za-z_]\w*)['\"]?")
_LONE_WORD = re.compile(r"^[^\S\n]*(\w+)[^\S\n]*$", re.MULTILINE)
_REDIRECTION = re.compile(r"\d*[<>]+&?\s*[^\s;|&]*")

_MOST_STATEMENTS = 20_000
_MOST_LETTERS = 100_000
"""Most letters of one word, and of a text that is searched for its end."""
_MOST_FILLED = 2_000_000
"""Letters and words that variables, arrays and environments bring in a script: doubling ends here."""
_MOST_NESTED = 20
"""Defaults in each other."""
_KEPT = 8
"""Scripts that are remembered: an answer reads the user's own more than once."""

_NAME = re.compile(r"[A-Za-z_]\w*")
_FENCE = re.compile(r"^[ \t]*```[\w+-]*[ \t]*$", re.MULTILINE)
_RUN, _QUOTED_RUN = re.compile(r"[\w./:,=+@%^~*?!\[\]-]+"), re.compile(r'[^"\\$`{]+')
"""Letters that stand for themselves, outside quotes and in double ones."""
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_PLAIN = re.compile(_RUN.pattern + r"(?=[ \t\n])")
"""A word of them alone."""
_ARRAY = re.compile(r"([A-Za-z_]\w*)(\+?)=\(")
_ENDS = re.compile(r"&&|\|\||;;|;|\|&|\||&|\n")
_BRANCHES = frozenset({"if", "elif", "while", "until", "for", "case", "select"})
_AROUND = frozenset({"then", "else", "do", "{", "}", "fi", "done", "esac", "!", "time"})
_DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})


def read_script(text: str, environment: Mapping[str, str] | None = None) -> Script:
    """The commands of a script; any text gives some.

    Args:
        text: The script.
        environment: Variables that are exported to it.
    """
    return _read(text, tuple((environment or {}).items()))


@lru_cache(maxsize=_KEPT)
def _read(text: str, environment: tuple[tuple[str, str], ...]) -> Script:
    return _Reader(_fenced(text.replace("\r\n", "\n")), dict(environment)).script()


def _fenced(text: str) -> str:
    """The fenced blocks of Markdown, each letter in its place and spaces for the rest; else the text."""
    fences = [] if text.startswith("#!") or "```" not in text else [*_FENCE.finditer(text)]
    if len(fences) < 2:
        return text
    ends = [0, *(place for fence in fences for place in fence.span()), len(text)]
    parts = [text[start:end] for start, end in pairwise(ends)]  # prose, fence, block, fence, prose ...
    return "".join(
        part if number % 4 == 2 else re.sub(r"[^\n]", " ", part) for number, part in enumerate(parts)
    )


class _Reader:
    """Reads one script from its beginning to its end."""

    def __init__(self, text: str, environment: Mapping[str, str]) -> None:
        self.text = text
        self.at = 0
        self.line_ends = [found.start() for found in re.finditer("\n", text)]
        self.variables: dict[str, str] = dict(environment)
        self.arrays: dict[str, list[str]] = {}
        self.exported: set[str] = set(environment)
        self.used: set[str] = set()
        self.spans: list[tuple[int, int]] = []
        self.assignments: list[ShellAssignment] = []
        self.here_documents: list[str] = []
        self.notes: list[str] = []
        self.branches = 0
        self.end = 0
        self.room, self.depth = _MOST_FILLED, 0

    def script(self) -> Script:
        commands: list[ShellCommand] = []
        for _ in range(_MOST_STATEMENTS):
            if self.at >= len(self.text):
                break
            start = self.at
            command = self._command(self._statement(), start)
            if command is not None:
                commands.append(command)
        else:
            self.notes.append(f"only the first {_MOST_STATEMENTS} commands were read")
        if self.room < 0:
            self.notes.append(f"its variables were filled in up to {_MOST_FILLED} letters")
        if self.branches:
            self.notes.append("conditions and loops were not followed: what is set last in the text counts")
        return Script(
            commands=tuple(commands),
            notes=tuple(dict.fromkeys(self.notes)),
            used=frozenset(self.used),
            assignments=tuple(self.assignments),
            here_documents=tuple(self.here_documents),
        )

    def _command(self, words: list[str], start: int) -> ShellCommand | None:
        while words and words[0] in _AROUND:
            words = words[1:]
        if words and words[0] in _BRANCHES:
            self.branches += 1
            return None
        self._note_assignments(words)
        own: dict[str, str] = {}
        while words and (found := _ASSIGNED.match(words[0])):
            own[found[1]] = (self.variables.get(found[1], "") if found[2] else "") + words[0][found.end() :]
            words = words[1:]
        if not words:
            self.variables.update(own)
            return None
        if words[0] in _DECLARES:
            for word in words[1:]:
                found = _ASSIGNED.match(word)
                name = found[1] if found else word
                if found:
                    self.variables[name] = word[found.end() :]
                if words[0] == "export":
                    self.exported.add(name)
            return None
        if words[0] == "unset":
            for word in words[1:]:
                self.variables.pop(word, None)
            return None
        exported = self.exported if self.room >= 0 else ()
        shared = {name: self.variables[name] for name in exported if name in self.variables}
        self.room -= len(shared)
        return ShellCommand(
            words=tuple(words),
            line=bisect_left(self.line_ends, start) + 1,
            start=start,
            end=self.end,
            environment={**shared, **own},
            spans=tuple(self.spans[-len(words) :]),
        )

    def _note_assignments(self, words: list[str]) -> None:
        """Keep where a statement assigns values: before a command, or behind what declares variables."""
        is_declared = bool(words) and words[0] in _DECLARES
        for word, span in zip(words, self.spans[len(self.spans) - len(words) :], strict=True):
            found = _ASSIGNED.match(self.text, span[0], span[1])
            if found and _ASSIGNED.match(word):
                self.assignments.append(ShellAssignment(name=found[1], span=(found.end(), span[1])))
            elif not is_declared:
                break

    def _statement(self) -> list[str]:
        """The words up to the end of a command."""
        words: list[str] = []
        self.spans = []
        while self.at < len(self.text):
            letter = self.text[self.at]
            if self.text.startswith("\\\n", self.at):
                self.at += 2
            elif letter in " \t":
                self.at += 1
            elif letter == "#":
                self._to_end_of_line()
            elif (end := self._end()) is not None:
                self.at += len(end)
                break
            elif _REDIRECTION.match(self.text, self.at):
                self._redirection()
            elif letter in "()":
                self.at += 1
            else:
                begin = self.at
                found = self._word()
                words += found
                self.spans += [(begin, self.at)] * len(found)
                self.end = self.at
        return words

    def _end(self) -> str | None:
        found = _ENDS.match(self.text, self.at)
        return found[0] if found else None

    def _to_end_of_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _redirection(self) -> None:
        """Pass over ``> file``, ``2>&1`` and a here-document."""
        here = _HERE.match(self.text, self.at)
        if here:
            words = _LONE_WORD.finditer(self.text, here.end())
            end = next((word for word in words if word[1] == here[1]), None)
            self.at = end.end() if end else len(self.text)
            self.here_documents.append(self.text[here.end() : end.start() if end else None])
            return
        found = _REDIRECTION.match(self.text, self.at)
        self.at = found.end() if found else self.at + 1

    def _word(self) -> list[str]:
        """One word; several where an unquoted variable or an array brings them."""
        words: list[str] = []
        piece, has_piece = "", False
        plain = _PLAIN.match(self.text, self.at)
        if plain and len(plain[0]) <= _MOST_LETTERS:
            self.at = plain.end()
            return [plain[0]]
        array = _ARRAY.match(self.text, self.at)
        if array:
            self.at = array.end()
            values, spans = self._array()
            self.assignments.append(
                ShellAssignment(name=array[1], span=(array.end() - 1, self.at), words=tuple(spans))
            )
            before = self.arrays.get(array[1], []) if array[2] else []
            self.arrays[array[1]] = [*before, *values]
            return []
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in " \t\n()<>" or self._end() is not None:
                break
            if letter == "'":
                end = self.text.find("'", self.at + 1)
                end = len(self.text) if end < 0 else end
                piece, has_piece = piece + self.text[self.at + 1 : end], True
                self.at = end + 1
            elif letter == '"':
                self.at += 1
                several = self._quoted()
                words += [piece + several[0], *several[1:-1]] if len(several) > 1 else []
                piece = several[-1] if len(several) > 1 else piece + "".join(several)
                has_piece = True
            elif self.text.startswith("{{", self.at):
                piece, has_piece = piece + self._template(), True
            elif letter == "\\":
                piece, has_piece = piece + self.text[self.at + 1 : self.at + 2].strip("\n"), True
                self.at += 2
            elif letter in "$`":
                values = self._expansion()
                parts = [part for value in values for part in _split(value)]
                if parts:
                    words += [piece + parts[0], *parts[1:-1]] if len(parts) > 1 else []
                    piece = parts[-1] if len(parts) > 1 else piece + parts[0]
                    has_piece = True
            else:
                run = _RUN.match(self.text, self.at)
                letters = letter if run is None else run[0]
                piece, has_piece = piece + letters, True
                self.at += len(letters)
            if len(piece) > _MOST_LETTERS:
                piece = f"{UNKNOWN}a word of more than {_MOST_LETTERS} letters{UNKNOWN}"
        return [*words, piece] if has_piece else words

    def _template(self) -> str:
        """A value that a template is to fill in: ``{{ name }}``."""
        end = self.text.find("}}", self.at)
        end = len(self.text) if end < 0 else end + len("}}")
        inside, self.at = self.text[self.at : end], end
        return f"{UNKNOWN}{inside[:40]}{UNKNOWN}"

    def _array(self) -> tuple[list[str], list[tuple[int, int]]]:
        """The words of an array, and where each stands."""
        values: list[str] = []
        spans: list[tuple[int, int]] = []
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self.text[self.at] in " \t\n":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self.text[self.at] == "#":
                self._to_end_of_line()
            else:
                before = self.at
                values += self._word()
                spans.append((before, self.at))
                self.at += self.at == before
        self.at += 1
        return values, spans

    def _quoted(self) -> list[str]:
        """The content of double quotes: one value, or those of an array."""
        found = [""]
        while self.at < len(self.text) and self.text[self.at] != '"':
            letter = self.text[self.at]
            if letter == "\\" and self.text[self.at + 1 : self.at + 2] in {"\\", '"', "$", "`", "\n"}:
                found[-1] += self.text[self.at + 1].strip("\n")
                self.at += 2
            elif self.text.startswith("{{", self.at):
                found[-1] += self._template()
            elif letter in "$`":
                values = self._expansion()
                found[-1] += values[0] if values else ""
                found += values[1:]
            else:
                run = _QUOTED_RUN.match(self.text, self.at)
                found[-1] += letter if run is None else run[0]
                self.at += 1 if run is None else len(run[0])
        self.at += 1
        return found

    def _expansion(self) -> list[str]:
        """The values of the ``$...`` at the present place, while there is room for them."""
        values = self._expanded()
        self.room -= sum(map(len, values)) + len(values)
        return values if self.room >= 0 else [f"{UNKNOWN}more than {_MOST_FILLED} letters{UNKNOWN}"]

    def _expanded(self) -> list[str]:
        text, start = self.text, self.at
        if text.startswith("$(", start) or text[start] == "`":
            inside = self._substitution() if text[start] == "$" else self._inside("`", "`")
            if text.startswith("$((", start) and inside.endswith(")"):
                return [self._arithmetic(inside[1:-1])]
            return [f"{UNKNOWN}what {inside.strip()[:40]!r} prints{UNKNOWN}"]
        if text.startswith("${", start):
            return self._braces(self._inside("${", "}"))
        name = _NAME.match(text, start + 1)
        if name is None:
            special = text[start + 1 : start + 2]
            self.at += 1 + bool(special and special in "@*#?$!0123456789-")
            return (
                [""] if special in "@*" else [f"{UNKNOWN}${special}{UNKNOWN}"] if special.strip() else ["$"]
            )
        self.at = name.end()
        return [self._value(name[0])]

    def _substitution(self) -> str:
        """The text of ``$(...)``, in which brackets and quotes nest."""
        text, begin, open_ends = self.text, self.at + len("$("), [")"]
        at = begin
        while at < len(text) and open_ends:
            letter, is_quoted = text[at], open_ends[-1] == '"'
            if letter == "\\":
                at += 1
            elif letter == open_ends[-1]:
                open_ends.pop()
            elif letter == "'" and not is_quoted:
                end = text.find("'", at + 1)
                at = len(text) if end < 0 else end
            elif letter == '"':
                open_ends.append(letter)
            elif letter == "(" and (not is_quoted or text[at - 1] == "$"):
                open_ends.append(")")
            at += 1
        self.at = min(at, len(text))
        return text[begin : self.at - (not open_ends)]

    def _inside(self, opening: str, closing: str) -> str:
        """The text between brackets, which may nest."""
        depth, at = 1, self.at + len(opening)
        begin = at
        while at < len(self.text) and depth:
            if self.text.startswith(closing, at):
                depth -= 1
                at += len(closing)
            elif opening != "`" and self.text.startswith(opening, at):
                depth += 1
                at += len(opening)
            else:
                at += 1
        self.at = at
        return self.text[begin : at - len(closing)] if not depth else self.text[begin:at]

    def _braces(self, inside: str) -> list[str]:
        name = _NAME.match(inside)
        if name is None:
            return [f"{UNKNOWN}${{{inside[:40]}}}{UNKNOWN}"]
        rest = inside[name.end() :]
        if rest in {"[@]", "[*]"}:
            if name[0] in self.arrays:
                return self.arrays[name[0]]
            return [self._value(name[0])]
        if rest.startswith((":-", "-", ":=", "=")):
            default = rest.lstrip(":")[1:]
            self.used.add(name[0])
            known = self.variables.get(name[0], "")
            return [known] if known else [self._filled(default)]
        if rest:
            return [f"{UNKNOWN}${{{inside[:40]}}}{UNKNOWN}"]
        return [self._value(name[0])]

    def _filled(self, text: str) -> str:
        """A default, with its own variables filled in."""
        if self.depth == _MOST_NESTED:
            return f"{UNKNOWN}{text[:40]}{UNKNOWN}"
        inner = _Reader(f'"{text}"', {})
        inner.variables, inner.arrays, inner.used = self.variables, self.arrays, self.used
        inner.room, inner.depth = self.room, self.depth + 1
        words = " ".join(inner._word())
        self.room = inner.room
        return words

    def _value(self, name: str) -> str:
        self.used.add(name)
        if name in self.variables:
            return self.variables[name]
        if name in self.arrays:
            return self.arrays[name][0] if self.arrays[name] else ""
        return f"{UNKNOWN}${name}{UNKNOWN}"

    def _arithmetic(self, inside: str) -> str:
        def filled(match: re.Match[str]) -> str:
            return self._value(match[1] or match[2])

        expression = re.sub(r"\$\{?([A-Za-z_]\w*)\}?|\b([A-Za-z_]\w*)\b", filled, inside).replace("/", "//")
        try:
            return str(whole_number(expression))
        except ValueError:
            return f"{UNKNOWN}$(({inside.strip()[:40]})){UNKNOWN}"


def _split(value: str) -> list[str]:
    """The words of an unquoted variable; what could not be filled in stays one."""
    return _PARTS.findall(value)
