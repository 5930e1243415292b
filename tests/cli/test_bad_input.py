"""Mistakes in the arguments of the shell: each is one line and a status, never a stack trace."""

from twisted.internet.defer import succeed

from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.cli.shell_command import Argument, Command

from ..storage.entries import run
from .shell_case import BOOKIES
from .stored_case import StoredCase

VALUES = ("", "-1", "9" * 5000, "1e400", "nan", "1_0", "a:b/c", ",", "..", "\udcff", "\n", "\0", "--")
"""Values for any argument, most of them wrong for most."""


def _given(argument: Argument, value: str) -> list[str]:
    if not argument.names[0].startswith("-"):
        return [value]
    name = argument.names[-1] if argument.names[-1].startswith("-") else f"-{argument.names[-1]}"
    return [name] if argument.kind is bool else [name, value]


def _required(command: Command, but: Argument) -> list[str]:
    return [word for a in command.arguments if a.required and a is not but for word in _given(a, BOOKIES[0])]


class MistakeTests(StoredCase):
    """Every argument of every verb."""

    def setUp(self) -> None:
        super().setUp()
        self.stored([run(1, 0, 3)])
        self.written(3)
        self.tick = 700.0  # whatever waits, has waited long
        self.http_answer = succeed((404, b"no such page"))

    def _one_line(self, *arguments: str) -> None:
        self.answers = [False] * 3
        status = self.shell(*arguments)
        self.assertIn(status, (0, 1, 255))
        for text in self.complaints[:1]:
            self.assertTrue(text.isprintable() and len(text) < 2500, arguments)

    def test_values(self) -> None:
        """Any value of any argument, every other one with all switches of the verb."""
        for command in COMMANDS.values():
            bools = [a for a in command.arguments if a.kind is bool and "force" not in a.names]
            switches = [word for argument in bools for word in _given(argument, "")]
            for argument in command.arguments:
                for number, value in enumerate(VALUES):
                    with self.subTest(command=command.name, argument=argument.names, value=value[:20]):
                        words = _required(command, argument) + _given(argument, value)
                        self._one_line(command.name, *(switches if number % 2 else []), *words)

    def test_missing(self) -> None:
        """No arguments, more operands than there are, flags that there are not."""
        for command in COMMANDS.values():
            for words in ((), ("a", "b", "c"), ("-nosuch",), ("--nosuch=1",), ("-", "x"), ("-json", "-nosuch")):
                with self.subTest(command=command.name, words=words):
                    self._one_line(command.name, *words)
                    if "-nosuch" in words or len(words) == 3:
                        self.assertTrue(self.complaints and self.complaints[0].startswith("ERROR: "), self.printed)
