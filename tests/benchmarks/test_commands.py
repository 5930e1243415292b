"""The commands of ``python -m benchmarks``."""

import io
import re
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.__main__ import main
from benchmarks.commands import COMMANDS

from ..architecture import read_tree

ROOT = Path(__file__).parents[2]


class CommandTests(SynchronousTestCase):
    """The table of commands."""

    def _texts(self) -> dict[str, str]:
        return {path: text for path, text in read_tree(ROOT).items() if path.startswith("benchmarks/")}

    def test_complete(self) -> None:
        """The module of each has a ``main``; what docstrings and modules call a command is in the table."""
        texts = self._texts()
        for command in COMMANDS.values():
            text = texts[f"benchmarks/{command.module.replace('.', '/')}.py"]
            self.assertIn("\ndef main(arguments: Sequence[str]) -> int:", text)
        named = {name for text in texts.values() for name in re.findall(r"python -m benchmarks ([a-z]\w*)", text)}
        self.assertEqual(named - COMMANDS.keys(), set())
        mains = {path for path, text in texts.items() if "\ndef main(arguments: Sequence[str]) -> int:" in text}
        listed = {f"benchmarks/{command.module.replace('.', '/')}.py" for command in COMMANDS.values()}
        self.assertEqual(mains - listed, {"benchmarks/__main__.py", "benchmarks/shared/generator.py"})

    def test_listed(self) -> None:
        """Without arguments each is in one line with its duration, and nothing is measured."""
        for arguments in ((), ("--help",), ("-h",)):
            with redirect_stdout(io.StringIO()) as out:
                self.assertEqual(main(arguments), 0)
            rows = [re.fullmatch(r"(\w+) +(\d+ (?:s|min|h))  (\S.*)", line) for line in out.getvalue().splitlines()]
            shown = {row[1]: row[2] for row in rows if row is not None}
            self.assertEqual(shown, {name: command.duration for name, command in COMMANDS.items()})

    def test_help(self) -> None:
        """Each tells about itself, under its own name."""
        for name, command in COMMANDS.items():
            if find_spec("pyspark") is not None or "spark" not in command.module:
                with redirect_stdout(io.StringIO()) as out:
                    ended = self.assertRaises(SystemExit, command.main(), ["--help"])
                self.assertFalse(ended.code)
                self.assertRegex(out.getvalue(), rf"^usage: python -m benchmarks {name}\b")
