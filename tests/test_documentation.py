"""The documentation: what it tells to type exists, and its programs can be compiled."""

import ast
import asyncio
import importlib
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import attrs
from twisted.python.usage import UsageError
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.lifecycle.settings import CONFIGURABLE, throttle_rates
from bookkeeper_twisted.cli.options import AutorecoveryOptions, ConfigOptions, Options
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.fields import fields_of
from bookkeeper_twisted.testing import aio_cluster, blocking_cluster

from .first_hour.documents import NOT_RUN, Command, blocks, commands, fits, literals, pages, sections

ROOT = Path(__file__).parents[1]

RUN: Mapping[str, Mapping[str, str] | str] = {
    "README.rst": "first_hour/steps.py",
    "docs/install.rst": "first_hour/steps.py",
    "docs/quickstart.rst": "first_hour/steps.py",
    "docs/testing.rst": "first_hour/steps.py",
    "docs/tutorial.rst": "integration/test_guides.py",
    "docs/operating.rst": "integration/test_guides.py",
    "docs/disasters.rst": "integration/test_disasters.py",
    "docs/autorecovery.rst": {"What runs where": "integration/test_guides.py"},
    "docs/containers.rst": {"In a container": "integration/test_guides.py"},
    "docs/running.rst": {
        "Running a bookie": "integration/test_guides.py", "In a cluster on ZooKeeper": "integration/test_guides.py",
        "The log": "integration/test_guides.py",
    },
    "docs/migration.rst": {
        "A bookie of ours in a cluster of Apache's": "integration/test_guides.py",
        "Back to Apache's bookie": "integration/test_guides.py",
    },
    "docs/pulsar.rst": {
        "Bookies for Pulsar": "integration/test_guides.py", "Autorecovery": "integration/test_guides.py",
    },
    "docs/storage.rst": {"Speed limits": "integration/test_guides.py"},
    "docs/security.rst": dict.fromkeys(
        ("TLS in five minutes", "Tokens", "Encrypted ledgers"), "integration/test_tls.py"
    ),
}  # fmt: skip
"""By page the module that runs its commands, or by section; it names the page, and each of these sections.

A block that no test runs has a caption that says why: ``Not run by a test: it needs Docker``.
"""

OUTSIDE = (
    "sudo", "docker", "podman", "systemctl", "journalctl", "curl", "apt", "kubectl", "helm", "python3 -m venv", "cp",
    "mv", "kill", "openssl", "install",
)  # fmt: skip
"""How commands begin that are not ours."""

TOKENS = (["token", "key"], ["token", "create"], ["token", "show"])

_PROGRAMS: dict[str, type[ConfigOptions]] = {"bookie": Options, "autorecovery": AutorecoveryOptions}
"""Those of ``twistd``."""


class CommandTests(SynchronousTestCase):
    """Every command of every page."""

    def test_run(self) -> None:
        """Each is in a page or a section that a test follows, or its block is marked as not run, with the reason."""
        run = {name: self._titles(text) for name, text in pages(ROOT).items()}
        wanted = {name: sorted(found) if isinstance(found, dict) else found for name, found in RUN.items()}
        found = {name: wanted[name] if isinstance(wanted.get(name), str) else sorted(titles)
                 for name, titles in run.items() if titles}  # fmt: skip
        self.assertEqual(found, wanted)

    def _titles(self, text: str) -> list[str]:
        """The titles of the sections that have commands for a test."""
        return [title for title, part in sections(text).items() if any(block.is_run for block in blocks(part))]

    def test_named(self) -> None:
        """The module that follows a page has its name, and those of its sections where not all of it is followed."""
        for name, found in RUN.items():
            by_title = dict.fromkeys([""], found) if isinstance(found, str) else found
            for title, module in by_title.items():
                text = (ROOT / "tests" / module).read_text()
                for words in (name.removeprefix("docs/"), title):
                    self.assertIn(words, text, f"{name}: {title}, {module}")

    def test_marks(self) -> None:
        """A mark has a reason; no block of commands has a caption but a mark."""
        captions = [block.caption for text in pages(ROOT).values() for block in blocks(text)
                    if block.language == "console" and block.caption]  # fmt: skip
        self.assertGreater(len(captions), 5)
        self.assertEqual([each for each in captions if len(each) < len(NOT_RUN) + 10], [])
        self.assertEqual([each for each in captions if not each.startswith(NOT_RUN)], [])

    def test_noticed(self) -> None:
        """Commands that nothing runs are noticed, and those that are marked are not."""
        page = "Title\n=====\n\n.. code-block:: console\n\n   $ true\n\nMore\n----\n\n.. code-block:: text\n\n   x\n"
        self.assertEqual(self._titles(page), ["Title"])
        self.assertEqual(self._titles(page.replace("console\n", f"console\n   :caption: {NOT_RUN}it is slow\n")), [])
        self.assertEqual(self._titles(page.replace("text\n", "console\n")), ["Title", "More"])

    def test_known(self) -> None:
        """Of what no test runs each is one of ours with options that exist, or belongs to another program."""
        unknown = [
            f"{name}: {command.text}"
            for name, text in pages(ROOT).items()
            for block in blocks(text)
            if block.language == "console" and not block.is_run
            for command in commands(block.text)
            if not self._known(command.text)
        ]
        self.assertEqual(unknown, [])

    def _known(self, text: str) -> bool:
        words = shlex.split(text)
        while words and re.match(r"\w+=", words[0]):
            words.pop(0)
        text = shlex.join(words)
        if text == ". venv/bin/activate":
            return True
        program = words[0].rpartition("/")[2]
        if program == "twistd":
            name = next(word for word in words if word in _PROGRAMS)
            return self._parses(_PROGRAMS[name](), words[words.index(name) + 1 :])
        if program == "bookkeeper-twisted":
            # those of tokens are run by tests.integration.test_tls
            return words[1] in ("shell", "--version", "probe", "drain") or words[1:3] in TOKENS
        if program == "make":
            targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M)
            return all(word in targets for word in words[1:] if "=" not in word)
        if program == "pip":
            return words[1] == "install" and words[-1].startswith(("bookkeeper-twisted[", "dist/"))
        if program.startswith("python") and words[1].endswith(".py"):
            return (ROOT / words[1]).exists()
        return text.startswith(OUTSIDE)

    def _parses(self, options: ConfigOptions, arguments: list[str]) -> bool:
        """Whether a program takes the options; the file of ``--conf`` is not read."""
        options.environ = {}
        if "--conf" in arguments:
            place = arguments.index("--conf")
            del arguments[place : place + 2]
        try:
            options.parseOptions(arguments)
        except (SystemExit, UsageError):
            return False
        return True

    def test_no_literals(self) -> None:
        """What is to be typed is in a block that says so, and not in one that shows something."""
        ours = ("twistd ", "bookkeeper-twisted ", "pip ", "python ", "$ ")
        typed = [
            f"{name}: {line}"
            for name, text in pages(ROOT).items()
            for literal in literals(text)
            for line in literal.splitlines()
            if line.startswith(ours)
        ]
        self.assertEqual(typed, [])


class SecurityPageTests(SynchronousTestCase):
    """The commands of ``docs/security.rst`` outside of its blocks, each of which a test runs."""

    lines = {"--cert client.pem": "integration/test_http_security.py", "@token": "integration/test_http_security.py"}
    """Words of the lines that are shown as literals."""
    inline = {
        "openssl rand": "integration/test_sasl.py", "openssl x509": "integration/test_http_security.py",
        "rewrapledgerkeys": "cli/commands/test_ledgers.py", "token key": "cli/test_tokens.py",
        "--output": "cli/test_tokens.py", "--audience": "cli/test_tokens.py",
    }  # fmt: skip
    """Words of the commands within the text, which the tests have, too."""

    def setUp(self) -> None:
        """Reads the page."""
        self.page = pages(ROOT)["docs/security.rst"]

    def test_literals(self) -> None:
        """Each line that is shown is a request that a test sends."""
        shown = [line for literal in literals(self.page) for line in literal.splitlines()]
        self.assertEqual([[words for words in self.lines if words in line] for line in shown],
                         [[words] for words in self.lines])  # fmt: skip

    def test_inline(self) -> None:
        """Commands within the text are known, and named by the test that runs them."""
        programs = ("openssl ", "bookkeeper-twisted ", "token ", "curl ")
        typed = {text for text in re.findall(r"``([^`]+)``", self.page) if text.startswith(programs)}
        found = {words for text in typed for words in self.inline if words in text}
        self.assertEqual(found, self.inline.keys())
        self.assertEqual([text for text in typed if not any(words in text for words in self.inline)], [])
        self.check({words.removeprefix("token "): module for words, module in self.inline.items()})

    def check(self, words: dict[str, str]) -> None:
        """See that the modules have the words."""
        for each, module in words.items():
            self.assertIn(each, (ROOT / "tests" / module).read_text(), module)


class ProgramTests(SynchronousTestCase):
    """Every program of every page."""

    def test_compiles(self) -> None:
        """Each is Python, and what it imports of ours is there."""
        for name, text in pages(ROOT).items():
            for block in blocks(text):
                if block.language == "python":
                    self._check(name, block.text)

    def test_typed(self) -> None:
        """The functions of the first programs are typed, so that they pass a strict type checker."""
        untyped = [
            f"{name}: {node.name}"
            for name in ("README.rst", "docs/quickstart.rst")
            for block in blocks((ROOT / name).read_text())
            if block.language == "python"
            for node in ast.walk(ast.parse(block.text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (node.returns is None or any(argument.annotation is None for argument in node.args.args))
        ]
        self.assertEqual(untyped, [])

    def _check(self, name: str, text: str) -> None:
        try:
            tree = compile(text, name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            raise self.failureException(f"{name}: {error}\n{text}") from None
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bookkeeper_twisted"):
                module = importlib.import_module(node.module or "")
                for alias in node.names:
                    self.assertTrue(hasattr(module, alias.name), f"{name}: from {node.module} import {alias.name}")


class ClientPageTests(SynchronousTestCase):
    """The programs of ``docs/client.rst``, which are parts of one story, on a cluster in memory."""

    def _parts(self, awaiting: bool) -> list[CodeType]:
        """The programs that wait with ``await``, or those that do not; without those that connect to a real cluster."""
        found = []
        for block in blocks(pages(ROOT)["docs/client.rst"]):
            awaits = "await " in block.text or "async " in block.text
            if block.language == "python" and awaits == awaiting and ".connect(" not in block.text:
                found.append(compile(block.text, "client.rst", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))
        return found

    def test_asyncio(self) -> None:
        """Those with ``await`` run one after the other in asyncio."""
        parts = self._parts(True)
        self.assertGreater(len(parts), 8)

        async def run() -> None:
            async with aio_cluster() as cluster, await cluster.connect() as bk:
                names = {"bk": bk, "asyncio": asyncio, "print": lambda *_: None}
                for part in parts:
                    waiting = eval(part, names)
                    if waiting is not None:
                        await waiting

        asyncio.run(run())

    def test_blocking(self) -> None:
        """Those without run one after the other in plain Python."""
        parts = self._parts(False)
        self.assertGreater(len(parts), 3)
        with blocking_cluster() as cluster, cluster.connect() as bk:
            names = {"bk": bk, "print": lambda *_: None}
            for part in parts:
                exec(part, names)


_OF_TWISTED = ("Another twistd server is running", "Unable to write to plugin cache", ", ")


class MessageTests(SynchronousTestCase):
    """The messages that the page on troubleshooting is ordered by."""

    def test_exist(self) -> None:
        """Each is in our sources, as it is quoted, or is one of twistd's."""
        sources = "".join(path.read_text() for path in (ROOT / "bookkeeper_twisted").rglob("*.py"))
        page = pages(ROOT)["docs/troubleshooting.rst"]
        quoted = [text for line in re.findall(r"^\*.*\*$", page, re.M) for text in re.findall(r"\*([^*]+)\*", line)]
        self.assertGreater(len(quoted), 20)
        self.assertEqual([text for text in quoted if text not in sources and text not in _OF_TWISTED], [])


class PageTests(SynchronousTestCase):
    """Pages as they are written."""

    def test_blocks(self) -> None:
        """Blocks, the files they are, and their commands are found."""
        page = """
Text::

   shown

.. code-block:: python
   :caption: a.py

   def f():

       return 1

.. code-block:: console

   $ one \\
       two
   $ three
   3
   ...

End.
"""
        python, console = blocks(page)
        self.assertEqual((python.caption, python.text), ("a.py", "def f():\n\n    return 1\n"))
        self.assertEqual(list(commands(console.text)), [Command("one two"), Command("three", ("3", "..."))])
        self.assertEqual(list(literals(page)), ["shown"])

    def test_fits(self) -> None:
        """Dots stand for any lines, and within a line for any text of it."""
        self.assertTrue(fits(("a", "...", "c"), "a\nb\nb\nc\n"))
        self.assertTrue(fits(("...",), ""))
        self.assertFalse(fits(("a", "c"), "a\nb\nc\n"))
        self.assertTrue(fits(("a ... c",), "a b c\n"))
        self.assertFalse(fits(("a ... c",), "a b\n c\n"))


class LimiterTests(SynchronousTestCase):
    """The table of limiters in the page on storage."""

    def _rows(self) -> dict[str, str]:
        """The text of each row by the name of its limiter."""
        text = (ROOT / "docs/storage.rst").read_text()
        table = text.partition(".. list-table:: Limiters of a bookie")[2].partition("\n\n0 sets no limit")[0]
        cells = [row.partition("``")[2].partition("``") for row in table.split("\n   * - ")[2:]]
        return {name: rest for name, _, rest in cells}

    def test_complete(self) -> None:
        """Every limiter has a row with every key that changes it, and the defaults of these keys."""
        rows, plain = self._rows(), throttle_rates(BookieConfig())
        self.assertEqual(rows.keys(), plain.keys())
        fields = fields_of(BookieConfig)
        for attribute in sorted(CONFIGURABLE):
            value = getattr(BookieConfig(), attribute)
            if isinstance(value, bool) or not isinstance(value, int):
                continue
            for by_bytes in (False, True):
                before = throttle_rates(BookieConfig(is_throttle_by_bytes=by_bytes))
                config = BookieConfig(is_throttle_by_bytes=by_bytes)
                changed: dict[str, Any] = {attribute: value + 1000}
                after = throttle_rates(attrs.evolve(config, **changed))
                for name in [name for name in plain if before[name] != after[name]]:
                    self.assertIn(f"``{fields[attribute].key}``", rows[name])
                    self.assertIn(f"{value}", rows[name])
