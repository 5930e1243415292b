"""Completion in bash, in a real one."""

import shutil
import subprocess
from unittest import SkipTest

from bookkeeper_twisted.cli.commands import COMMANDS

from ..shell_case import ShellCase

_ASK = """
eval "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_bookkeeper_twisted
printf '%s\\n' "${COMPREPLY[@]}"
"""


class CompletionTests(ShellCase):
    """Words after ``bookkeeper-twisted``."""

    def setUp(self) -> None:
        super().setUp()
        if shutil.which("bash") is None:
            raise SkipTest("needs bash")
        self.assertEqual(self.shell("completion", "bash"), 0)
        self.script = "\n".join(self.printed)

    def completed(self, *words: str) -> set[str]:
        """What bash offers for the last word."""
        command = ["bash", "--norc", "-c", _ASK, "bash", self.script, "bookkeeper-twisted", *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return {word for word in done.stdout.split("\n") if word}

    def test_verbs(self) -> None:
        """Verbs follow ``shell`` and its options, also those with a value and with a colon in it."""
        self.assertEqual(self.completed(""), {"shell", "token", "--help", "--version"})
        found = self.completed("shell", "")
        self.assertLessEqual({*COMMANDS, "help", "completion", "-conf"}, found)
        ledgers = {"ledgermetadata", "ledger"}
        for before in (
            (), ("-conf", "f"), ("--conf", "=", "f"), ("-ledgeridformat", "hex"), ("-localbookie", "h", ":", "3181"),
        ):  # fmt: skip
            self.assertEqual(self.completed("shell", *before, "ledger"), ledgers, before)
        self.assertEqual(self.completed("shell", "help", "whoi"), {"whoisauditor"})
        self.assertEqual(self.completed("shell", "completion", ""), {"bash"})
        self.assertEqual(self.completed("token", ""), set())

    def test_flags(self) -> None:
        """Each verb has its own options, in both spellings, and ``-json`` where it has it."""
        names = ("meta", "bookieid", "json", "progress")
        self.assertEqual(self.completed("shell", "listledgers", "-"), {"-m", *(f"-{name}" for name in names)})
        self.assertEqual(self.completed("shell", "listledgers", "--"), {f"--{name}" for name in names})
        self.assertEqual(self.completed("shell", "deleteledger", "-f"), {"-f", "-force"})
        self.assertEqual(self.completed("shell", "-conf", "f", "readledger", "-l", "5", "-ms"), {"-msg"})
        for name, command in COMMANDS.items():
            expected = {s for a in command.all_arguments if a.is_option for s in a.spellings if s[1] != "-"}
            if name in ("recover", "top", "cookie_generate", "whoisauditor", "metaformat"):
                self.assertEqual(self.completed("shell", name, "-"), expected)

    def test_values(self) -> None:
        """Fixed values are offered, and files where a file is wanted; nothing is offered for an id."""
        self.assertEqual(self.completed("shell", "-ledgeridformat", ""), {"hex", "long", "uuid"})
        self.assertEqual(self.completed("shell", "top", "-sort", "d"), {"disk"})
        self.assertEqual(self.completed("shell", "readledger", "-l", ""), set())
        name = self.mktemp()
        with open(name + " of mine", "w"):
            pass
        self.assertEqual(self.completed("shell", "ledgermetadata", "-dumptofile", name), {name + " of mine"})
        self.assertEqual(self.completed("shell", "-conf", name), {name + " of mine"})

    def test_other_shells(self) -> None:
        """For another shell, or none, there is no script."""
        for arguments in ((), ("zsh",), ("bash", "x")):
            self.assertEqual(self.shell("completion", *arguments), 255)
            self.assertEqual(self.complaints[0], "ERROR: completion is made for bash: completion bash")
