"""The pages of ``docs/architecture``: what they name exists, and their numbers are those of the code."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.commands import COMMANDS
from benchmarks.shared.apache import CONFIGURATIONS
from benchmarks.shared.workloads import chosen
from bookkeeper_twisted.config.autorecovery import AutorecoveryConfig
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of
from docs import constant_role

from .architecture import LAYER_0, OURS, PACKAGE, read_tree
from .first_hour.documents import pages

ROOT = Path(__file__).parents[1]

OUTSIDE = frozenset(
    # of the kernel and other programs
    {"O_DIRECT", "RWF_DSYNC", "RWF_NOWAIT", "cc", "fallocate", "ioprio_set", "nice"}
    | {"posix_fadvise", "pread", "preadv2", "pwritev2", "strace", "sync_file_range"}
    # of Python
    | {"bytearray", "gc.freeze()", "itemgetter", "mmap", "pack_into", "struct", "zip"}
    # of the wire, of files, of rules
    | {"txnId", "flow id << 32 | sequence", "durable_before", "DUMMY"}
    | {"current/reserve", "current/journalSizes", "metadata.db-reserve"}
    | {"Aq", "E", "Wq", "Wq - Aq + 1", "n", "n mod E"}
    # of programs that look at others
    | {"py-spy record --native"}
)
"""Literals that name nothing of ours."""

_LITERAL = re.compile(r"(?<!`)``(?!`)(.+?)``", re.DOTALL)
_DEFINITIONS = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_CONSTANT = re.compile(r":constant:`([^`]+)`")
_MEASURED = re.compile(
    r"\b\d[\d.,]*\s+(?:[KMG]i?B|B|bytes|ms|us|µs|s|seconds?|minutes?|hours?|percent)\b"
    r"|\b(?:half a|two|three|four|five|six|seven|eight|nine|ten|twelve|sixteen|twenty|thirty|sixty)"
    r"\s+(?:kibibytes?|mebibytes?|bytes|seconds|milliseconds|microseconds|minutes|hours)\b"
)
"""A number with a unit."""

_OCCASION = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b(?:AMD|Intel|Xeon|EPYC)\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,10}\b")
"""A date, a kind of host, or a commit."""


def _texts() -> dict[str, str]:
    return {name: text for name, text in pages(ROOT).items() if name.startswith("docs/architecture/")}


def _literals(text: str) -> Iterator[str]:
    """What is between double backticks; a command may go on in the next line."""
    return (" ".join(literal.split()) for literal in _LITERAL.findall(text))


def _prose(text: str) -> str:
    """A page without what is quoted, the numbers of constants and the names of files."""
    return re.sub(r":\w+:`[^`]+`", "", _LITERAL.sub("", text))


class _Named(ast.NodeVisitor):
    """The names that a module defines: alone, and those of members behind that of their class and a dot."""

    def __init__(self) -> None:
        self.found = set[str]()
        self._owner = ""

    def _add(self, name: str) -> None:
        self.found |= {name, f"{self._owner}.{name}"}

    def _define(self, node: _DEFINITIONS) -> None:
        self._add(node.name)
        owner, self._owner = self._owner, node.name
        self.generic_visit(node)
        self._owner = owner

    visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _define

    def visit_arg(self, node: ast.arg) -> None:
        self._add(node.arg)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._add(node.id)


@cache
def _package() -> Mapping[str, frozenset[str]]:
    """The names that each module defines, by the module's own without the package's; packages define none."""
    found: dict[str, frozenset[str]] = {}
    for path, text in read_tree(ROOT).items():
        if path.startswith(PACKAGE + "/"):
            name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            named = _Named()
            named.visit(ast.parse(text))
            found[name.removeprefix(PACKAGE).removeprefix(".")] = frozenset(named.found)
    return found


@cache
def _bases() -> Mapping[str, frozenset[str]]:
    """The names of the classes that each class of the package derives from."""
    trees = [ast.parse(text) for path, text in read_tree(ROOT).items() if path.startswith(PACKAGE)]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    return {node.name: frozenset(ast.unparse(base) for base in node.bases) for node in classes}


def _is_member(name: str) -> bool:
    """Whether ``name`` is a class and a member of it, or of a class it derives from."""
    owner, _, member = name.rpartition(".")
    if any(name in names for names in _package().values()):
        return True
    return any(_is_member(f"{base}.{member}") for base in _bases().get(owner, ()))


def _is_module(name: str) -> bool:
    return any(each == name or each.endswith("." + name) for each in _package() if each)


def _is_name(name: str) -> bool:
    """Whether a dotted name is one of the package: a module, what one defines, or both; from any room on."""
    if _is_module(name) or _is_member(name):
        return True
    module, _, rest = name.partition(".")
    while rest:
        if any((m == module or m.endswith("." + module)) and rest in names for m, names in _package().items()):
            return True
        further, _, rest = rest.partition(".")
        module = f"{module}.{further}"
    return False


@cache
def _keys() -> frozenset[str]:
    """The keys of all configurations."""
    kinds = BookieConfig, ClientConfig, AutorecoveryConfig
    return frozenset(field.key for kind in kinds for field in fields_of(kind).values())


def _exists(literal: str) -> bool:
    """Whether a page may name this: it is there, or is nothing of ours."""
    if literal in OUTSIDE or literal in CONFIGURATIONS or (ROOT / literal).exists():
        return True
    if command := re.match(r"python -m benchmarks (\w+)", literal):
        return command[1] in COMMANDS
    if script := re.match(r"python (\S+\.py)", literal):
        return (ROOT / script[1]).exists()
    if key := re.fullmatch(r"([a-z]+[A-Z]\w*)(?: ?= ?\w+)?", literal):
        return key[1] in _keys()
    if option := re.fullmatch(r"--(\w+)(?: \w+)?", literal):
        return any(f'"--{option[1]}"' in path.read_text() for path in (ROOT / "benchmarks").rglob("*.py"))
    if chosen([literal]):
        return True
    name = re.sub(r"\(.*\)$|=\w+$", "", literal)
    return _is_name(name.removesuffix(".py").replace("/", "."))


class NamesTests(SynchronousTestCase):
    """What the pages name."""

    def test_exist(self) -> None:
        """Every module, class, function, constant, key, command and workload that they name is there."""
        named = [(page, name) for page, text in _texts().items() for name in _literals(text)]
        self.assertEqual([f"{page}: {name}" for page, name in named if not _exists(name)], [])

    def test_noticed(self) -> None:
        """Names that have gone are noticed, in whatever form they are written; those that exist are found."""
        gone = (
            "client/writing/writing_machine", "storage/disk", "AddMachine", "Turns.rest", "_ROWS_BEHIND",
            "codec.adds.sealed", "appendLingerSec", "batchReadEnable = false", "python -m benchmarks lingering",
            "python examples/nothing.py", "add-3K-*", "LedgerReader.appender", "--stressed 7",
        )  # fmt: skip
        self.assertEqual([name for name in gone if _exists(name)], [])
        known = (
            "client/writing/quorum_writer", "protocol/turns.py", "Turns.begin", "_ROWS_AHEAD", "writing.states",
            "codec.adds.stored_adds", "journalSyncData=false", "LedgerWriter.append", "add-1K-*",
        )  # fmt: skip
        self.assertEqual([name for name in known if not _exists(name)], [])

    def test_outside(self) -> None:
        """Each literal that is said to be nothing of ours is on a page."""
        used = {name for text in _texts().values() for name in _literals(text)}
        self.assertEqual(OUTSIDE - used, frozenset())


class RoomsTests(SynchronousTestCase):
    """The picture of the rooms."""

    def test_complete(self) -> None:
        """It has every room, the rooms of each, and every module of the ground floor; and no other."""
        text = _texts()["docs/architecture/index.rst"]
        picture = text.partition("keeps it::\n\n")[2].partition("\n\nWhat reaches out")[0]
        shown = {word for line in picture.splitlines() for word in re.findall(r"\w+", line[:57])}
        rooms = {name for name in OURS if name and not name.startswith("_")} - LAYER_0
        inner = {path.name for room in rooms for path in (ROOT / PACKAGE / room).iterdir() if path.is_dir()}
        inner = {name for name in inner if not name.startswith("_")}
        self.assertEqual(shown ^ (rooms | inner | LAYER_0), set())


class NumbersTests(SynchronousTestCase):
    """The numbers of the code that the pages of the guide repeat."""

    def test_values(self) -> None:
        """Each has the value of the constant that it names."""
        uses = [use for text in pages(ROOT).values() for use in _CONSTANT.findall(text)]
        self.assertGreater(len(uses), 30)
        for use in uses:
            constant_role.check(*constant_role.parts(use))

    def test_noticed(self) -> None:
        """Other values and units, constants that have gone, and numbers without a constant are noticed."""
        target = "client.claims.memory_blocks.DEFAULT_BLOCK_SIZE"
        constant_role.check("256 KiB", target)
        constant_role.check("262,144", target)
        for text in ("16 KiB", "256 MiB", "sixteen", "256 pages"):
            self.assertRaises(ValueError, constant_role.check, text, target)
        self.assertRaises(AttributeError, constant_role.check, "1", target + "S")
        self.assertRaises(ValueError, constant_role.parts, "256 KiB")

    def test_from_the_code(self) -> None:
        """A number with a unit names its constant: those that were measured are in ``benchmarks``."""
        self.assertEqual([f"{p}: {m[0]}" for p, text in _texts().items() for m in _MEASURED.finditer(_prose(text))], [])

    def test_no_occasions(self) -> None:
        """The pages have no date, host or commit: what was measured when and where is in ``benchmarks``."""
        self.assertEqual([f"{p}: {m[0]}" for p, text in _texts().items() for m in _OCCASION.finditer(_prose(text))], [])

    def test_prose(self) -> None:
        """Numbers in sentences are found, in figures or in words; not those of the code, nor what is quoted."""
        text = ":constant:`4 KiB <a.B>`, ``5 ms``, 16 KiB cost two seconds,\n1.5 us or 3 percent, 2026-11-22, 73d5756"
        self.assertEqual(
            [match[0] for match in _MEASURED.finditer(_prose(text))], ["16 KiB", "two seconds", "1.5 us", "3 percent"]
        )
        self.assertEqual([match[0] for match in _OCCASION.finditer(_prose(text))], ["2026-11-22", "73d5756"])
