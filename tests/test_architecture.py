"""The architecture rules: the repository keeps them, and each of them notices when it is broken."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.shared import documented
from bookkeeper_twisted.config.bookie import BookieConfig
from bookkeeper_twisted.config.client import ClientConfig
from bookkeeper_twisted.config.fields import fields_of

from . import architecture
from .architecture import Tree

_DOC = '"""Doc."""\n'


class RepositoryTests(SynchronousTestCase):
    """The rules on the code as it is."""

    longMessage = False
    tree = architecture.read_tree(Path(__file__).parent.parent)

    def _keeps(self, rule: Callable[[Tree], Iterator[str]]) -> None:
        broken = list(rule(self.tree))
        self.assertFalse(broken, "\n".join(["", *broken]))

    def test_the_tree_is_all_there(self) -> None:
        """The rules see the package, its tests, the examples and the benchmarks."""
        tops = {path.partition("/")[0] for path in self.tree}
        self.assertEqual(tops, {"bookkeeper_twisted", "tests", "examples", "benchmarks"})
        self.assertIn("bookkeeper_twisted/model.py", self.tree)

    def test_imports_point_down(self) -> None:
        """No package imports upwards or sideways."""
        self._keeps(architecture.imports_point_down)

    def test_no_circles_of_modules(self) -> None:
        """No module imports itself over others."""
        self._keeps(architecture.modules_form_no_circle)

    def test_no_circles_of_rooms(self) -> None:
        """Inside each package imports point one way."""
        self._keeps(architecture.rooms_form_no_circle)

    def test_libraries(self) -> None:
        """Each layer keeps to its libraries."""
        self._keeps(architecture.libraries_stay_in_their_layer)

    def test_doors(self) -> None:
        """Only the production adapters import what reaches out into the world."""
        self._keeps(architecture.the_world_comes_through_doors)

    def test_module_length(self) -> None:
        """No module is over 500 lines."""
        self._keeps(architecture.modules_are_short)

    def test_function_length(self) -> None:
        """No function is over 50 lines."""
        self._keeps(architecture.functions_are_short)

    def test_room_size(self) -> None:
        """No room has over fifteen modules."""
        self._keeps(architecture.rooms_are_small)

    def test_class_names(self) -> None:
        """The name of a class says which one it is."""
        self._keeps(architecture.class_names_are_unique)

    def test_counterparts(self) -> None:
        """Each module is reached by a test of its room."""
        self._keeps(architecture.modules_have_tests)

    def test_docstrings(self) -> None:
        """What is public is documented, and every test says what it tests."""
        self._keeps(architecture.public_names_are_documented)

    def test_arguments_are_documented(self) -> None:
        """Public functions that have arguments document them, and docstrings begin with what a thing is or does."""
        package = {path: text for path, text in self.tree.items() if path.startswith("bookkeeper_twisted/")}
        modules = {path: ast.parse(text) for path, text in package.items() if "/testing/" not in path}
        rules = (documented.undocumented, documented.without_sentence, documented.vague)
        broken = [sentence for rule in rules for sentence in rule(modules)]
        self.assertFalse(broken, "\n".join(["", *broken]))

    def test_benchmarks(self) -> None:
        """Benchmarks import nothing of the tests."""
        self._keeps(architecture.benchmarks_import_no_tests)

    def test_package_roots(self) -> None:
        """Package roots hold documentation and re-exports only."""
        self._keeps(architecture.package_roots_hold_no_code)

    def test_fields(self) -> None:
        """A field of a ledger that is written is assigned in one module."""
        self._keeps(architecture.fields_have_one_writer)

    def test_every_key_has_an_effect(self) -> None:
        """A configuration field is read somewhere; what has no effect is not offered."""
        code = "\n".join(text for path, text in self.tree.items() if re.match(r"bookkeeper_twisted/\w+/", path))
        derived = {"zk_servers", "zk_ledgers_root_path", "use_v2_wire_protocol"}  # defaults of other fields
        for config in (BookieConfig, ClientConfig):
            unused = [
                name for name in fields_of(config)
                if name not in derived and not re.search(rf"\.{name}\b|\.chosen\(\"{name}\"", code)
            ]  # fmt: skip
            self.assertEqual(unused, [])


class RuleTests(SynchronousTestCase):
    """Each rule on a made-up tree that breaks it, and on one that does not."""

    def _finds(self, rule: Callable[[Tree], Iterator[str]], path: str, text: str, *expected: str) -> None:
        self.assertEqual(list(rule({path: text})), list(expected))

    def test_import_upwards(self) -> None:
        """The codec may not import the bookie, in whatever spelling."""
        path = "bookkeeper_twisted/codec/v2.py"
        for text in (
            "from ..bookie.service import BookieService",
            "from ..bookie import service",
            "from .. import bookie",
            "import bookkeeper_twisted.bookie.lifecycle.service",
            "def f():\n    from ..bookie import service",
        ):
            with self.subTest(text):
                (found,) = architecture.imports_point_down({path: text})
                self.assertTrue(found.startswith(f"{path}: imports bookkeeper_twisted.bookie"), found)

    def test_import_of_a_sibling(self) -> None:
        """Client and bookie are strangers, and so are codec and storage."""
        for path, text in (
            ("bookkeeper_twisted/client/a.py", "from ..bookie import b"),
            ("bookkeeper_twisted/bookie/a.py", "from ..client import b"),
            ("bookkeeper_twisted/codec/a.py", "from ..storage import b"),
            ("bookkeeper_twisted/storage/a.py", "from ..codec import b"),
        ):
            with self.subTest(path):
                self.assertEqual(len(list(architecture.imports_point_down({path: text}))), 1)

    def test_circle_of_modules(self) -> None:
        """A circle of modules is found, also one that is closed for type checkers only or in a function."""
        base = "bookkeeper_twisted/client/"
        lazy = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import A"
        tree = {base + "a.py": "from .b import B", base + "b.py": "from . import c", base + "c.py": lazy}
        rule = architecture.modules_form_no_circle
        self.assertEqual(list(rule(tree, frozenset())), ["a circle of imports: client.a, client.b, client.c"])
        tree[base + "c.py"] = "def f():\n    from . import a"
        self.assertEqual(len(list(rule(tree, frozenset()))), 1)
        tree[base + "c.py"] = ""
        self.assertEqual(list(rule(tree, frozenset())), [])

    def test_circle_of_rooms(self) -> None:
        """Two packages, or a package and a module beside it, that import each other's modules are found."""
        rule = architecture.rooms_form_no_circle
        client = "bookkeeper_twisted/client/"
        tree = {
            client + "x/__init__.py": "", client + "x/a.py": "from ..y.b import B", client + "x/c.py": "",
            client + "y/__init__.py": "", client + "y/b.py": "", client + "y/d.py": "from ..x import c",
        }  # fmt: skip
        self.assertEqual(list(architecture.modules_form_no_circle(tree, frozenset())), [])
        self.assertEqual(list(rule(tree, frozenset())), ["a circle of imports: client.x, client.y"])
        tree[client + "y/d.py"] = ""
        self.assertEqual(list(rule(tree, frozenset())), [])
        tree |= {client + "e.py": "from .x.a import A", client + "y/d.py": "from ..e import E"}
        self.assertEqual(list(rule(tree, frozenset())), ["a circle of imports: client.e, client.x, client.y"])

    def test_known_circle(self) -> None:
        """A circle that is known passes; one that is known and gone has to be taken from the list."""
        base = "bookkeeper_twisted/client/"
        tree = {base + "a.py": "from .b import B", base + "b.py": "from . import a"}
        known = frozenset({frozenset({"client.a", "client.b"})})
        rule = architecture.modules_form_no_circle
        self.assertEqual(list(rule(tree, known)), [])
        tree[base + "b.py"] = ""
        self.assertEqual(list(rule(tree, known)), ["no circle any more: client.a, client.b"])

    def test_import_of_one_module(self) -> None:
        """A row can allow one module of a package: metadata formats, not the wire."""
        path = "bookkeeper_twisted/metadata/a.py"
        self._finds(architecture.imports_point_down, path, "from ..codec.metadata_formats import encode")
        self._finds(
            architecture.imports_point_down,
            path,
            "from ..codec import v2",
            f"{path}: imports bookkeeper_twisted.codec.v2",
        )

    def test_import_by_the_lowest_layer(self) -> None:
        """The shared values import nothing above them."""
        path = "bookkeeper_twisted/model.py"
        self._finds(architecture.imports_point_down, path, "from .errors import Status")
        self._finds(
            architecture.imports_point_down,
            path,
            "from .codec import v2",
            f"{path}: imports bookkeeper_twisted.codec.v2",
        )

    def test_testing_is_not_imported(self) -> None:
        """No runtime module imports the doubles."""
        path = "bookkeeper_twisted/cli/tap.py"
        self._finds(
            architecture.imports_point_down,
            path,
            "from ..testing import admin",
            f"{path}: imports bookkeeper_twisted.testing.admin",
        )

    def test_new_package(self) -> None:
        """A package without a row has to be given one."""
        path = "bookkeeper_twisted/clever/a.py"
        self._finds(architecture.imports_point_down, path, "", f"{path}: the import table has no row for it")

    def test_library_in_the_wrong_layer(self) -> None:
        """The codec and the storage know no Twisted; nothing knows a library that is in no row."""
        rule = architecture.libraries_stay_in_their_layer
        codec, bookie = "bookkeeper_twisted/codec/a.py", "bookkeeper_twisted/bookie/a.py"
        self._finds(rule, codec, "from twisted.internet import defer", f"{codec}: imports twisted.internet.defer")
        self._finds(rule, bookie, "from twisted.internet import defer")
        self._finds(rule, bookie, "import numpy", f"{bookie}: imports numpy")

    def test_the_world(self) -> None:
        """Clock, disk, threads and the global reactor are not imported outside the adapters."""
        rule = architecture.the_world_comes_through_doors
        path = "bookkeeper_twisted/bookie/a.py"
        for text, name in (
            ("import time", "time"),
            ("import os.path", "os.path"),
            ("from random import choice", "random.choice"),
            ("from uuid import uuid4", "uuid.uuid4"),
            ("import threading", "threading"),
            ("import socket", "socket"),
            ("from twisted.internet import reactor", "twisted.internet.reactor"),
        ):
            with self.subTest(text):
                self._finds(rule, path, text, f"{path}: imports {name}")
        self._finds(rule, path, 'open("x")', f"{path}:1: opens a file")

    def test_doors_are_narrow(self) -> None:
        """An adapter imports the part of the world it is the door to, not the rest."""
        rule = architecture.the_world_comes_through_doors
        path = "bookkeeper_twisted/storage/files/filesystem.py"
        self._finds(rule, path, "import os")
        self._finds(rule, path, "import socket", f"{path}: imports socket")
        self._finds(rule, "bookkeeper_twisted/cli/tap.py", "from twisted.internet import reactor")

    def test_long_module(self) -> None:
        """500 lines pass, 501 do not."""
        rule = architecture.modules_are_short
        self._finds(rule, "tests/a.py", "\n" * 500)
        self._finds(rule, "tests/a.py", "\n" * 501, "tests/a.py: 501 lines")

    def test_long_function(self) -> None:
        """50 lines pass, 51 do not, also in a method of a nested class."""
        rule = architecture.functions_are_short
        self._finds(rule, "tests/a.py", "def f():\n" + "    x\n" * 49)
        self._finds(rule, "tests/a.py", "def f():\n" + "    x\n" * 50, "tests/a.py:1: f has 51 lines")
        nested = "class A:\n  class B:\n    async def f():\n" + "      x\n" * 50
        self._finds(rule, "tests/a.py", nested, "tests/a.py:3: f has 51 lines")

    def test_large_room(self) -> None:
        """Fifteen modules in a room pass, sixteen do not; its root, rooms inside it and tests are not counted."""
        room = "bookkeeper_twisted/codec"
        tree = {f"{room}/m{number}.py": "" for number in range(15)}
        tree |= {f"{room}/__init__.py": "", f"{room}/v2/layout.py": ""}
        tree |= {f"tests/codec/test_m{number}.py": "" for number in range(16)}
        self.assertEqual(list(architecture.rooms_are_small(tree)), [])
        tree[f"{room}/more.py"] = ""
        self.assertEqual(list(architecture.rooms_are_small(tree)), [f"{room}: 16 modules"])

    def test_class_of_another_module(self) -> None:
        """A class of the name of another is named, be one of them private or inside a function."""
        rule = architecture.class_names_are_unique
        known = {"bookkeeper_twisted/client/a.py": "class A: pass\nclass B: pass"}
        path = "bookkeeper_twisted/storage/b.py"
        for text in ("\nclass A: pass", "\nclass A(B): pass"):
            expected = [f"{path}:2: A is a class of bookkeeper_twisted/client/a.py, too"]
            self.assertEqual(list(rule({**known, path: text})), expected)
        for text in ("\nclass _A: pass", "def f():\n    class _A: pass"):
            expected = [f"{path}:2: _A is a class of bookkeeper_twisted/client/a.py, too"]
            self.assertEqual(list(rule({**known, path: text})), expected)
        for other in ("class AB: pass", "from ..client.a import A", "A = object"):
            self.assertEqual(list(rule({**known, path: other})), [])

    def test_classes_of_other_doors(self) -> None:
        """The doors of asyncio and of threads have the names of the client on purpose; tests are free."""
        known = {"bookkeeper_twisted/client/a.py": "class A: pass"}
        for path in ("bookkeeper_twisted/aio/a.py", "bookkeeper_twisted/blocking/a.py", "tests/client/test_a.py"):
            self.assertEqual(list(architecture.class_names_are_unique({**known, path: "class A: pass"})), [])
        path = "bookkeeper_twisted/blocking_reads/a.py"
        self.assertEqual(len(list(architecture.class_names_are_unique({**known, path: "class A: pass"}))), 1)

    def test_missing_test_module(self) -> None:
        """A module that no test of its room reaches is named."""
        rule = architecture.modules_have_tests
        path = "bookkeeper_twisted/codec/v2.py"
        text = "from bookkeeper_twisted.codec.v2 import encode_adds"
        self._finds(rule, path, "", f"{path}: no test of its room reaches it")
        self.assertEqual(list(rule({path: "", "tests/codec/test_frames.py": text})), [])
        self.assertEqual(len(list(rule({path: "", "tests/bookie/test_bookie.py": text}))), 1)
        self.assertEqual(list(rule({path: "", "tests/test_all.py": text})), [])

    def test_exempt_from_counterparts(self) -> None:
        """Package roots, interfaces and generated code need none."""
        for name in ("__init__.py", "codec/interfaces.py", "codec/_pb/BookkeeperProtocol_pb2.py"):
            self._finds(architecture.modules_have_tests, f"bookkeeper_twisted/{name}", "")

    def test_missing_docstring(self) -> None:
        """Modules, public classes and public functions without one are named."""
        rule = architecture.public_names_are_documented
        path = "bookkeeper_twisted/a.py"
        self._finds(rule, path, "x = 1", f"{path}: no docstring")
        self._finds(rule, path, _DOC + "def f(): f()", f"{path}:2: f has no docstring")
        self._finds(rule, path, _DOC + "class A:\n    def f(): pass", f"{path}:2: A has no docstring")

    def test_undocumented_arguments(self) -> None:
        """Functions and methods that have arguments, and no field in the docstring, are named."""
        text = _DOC + (
            "class A:\n  def f(self, a): 'Does.'\n  def g(self): 'Does.'\n  def _h(self, a): 'Does.'\n"
            "  def i(self, *, a):\n    ':param a: an A.'\ndef j(a): 'Does.'\n"
        )
        modules = {"a.py": ast.parse(text)}
        named = ["a.py:3: A.f does not document its arguments", "a.py:8: j does not document its arguments"]
        self.assertEqual(list(documented.undocumented(modules)), named)
        self.assertEqual(documented.counts(modules), (3, 1))

    def test_documented_arguments(self) -> None:
        """Arguments are documented by their names in backticks and by the method that is provided or overridden."""
        text = (
            "def f(a, b): 'Adds ``a`` to ``b[0]``.'\ndef g(a, b): 'Adds ``a`` to b.'\n"
            "class I(Interface):\n  def h(a): ':param a: an A.'\n  def i(a): 'Does.'\n"
            "@implementer(m.I)\nclass A:\n  def h(self, a): 'Does.'\n  def i(self, a): 'Does.'\n"
            "class B(Generic[T], A):\n  def h(self, a): 'Does more.'\n  def k(self, a): 'Does.'\n"
        )
        found = list(documented.undocumented({"a.py": ast.parse(text)}))
        self.assertEqual([sentence.split()[1] for sentence in found], ["g", "I.i", "A.i", "B.k"])

    def test_docstring_without_a_sentence(self) -> None:
        """Public classes and functions whose docstring begins with a field are named; ``__init__`` may do so."""
        text = (
            "class A:\n  ':ivar a: an A.'\n  def __init__(self, a):\n    ':param a: an A.'\n"
            "  def f(self, a):\n    ':param a: an A.'\n  def g(self, a):\n    'Does.\\n\\n:param a: an A.'\n"
        )
        found = list(documented.without_sentence({"a.py": ast.parse(text)}))
        begins = "does not begin with a sentence"
        named = [f"a.py:1: the docstring of A {begins}", f"a.py:5: the docstring of f {begins}"]
        self.assertEqual(found, named)

    def test_vague_docstring(self) -> None:
        """Modules, classes and functions whose docstring begins with a question are named."""
        text = "'What is here.'\nclass A:\n  'What it is.'\n  def _f(self): 'How so'\n  def g(self): 'Return it.'\n"
        found = list(documented.vague({"a.py": ast.parse(text)}))
        self.assertEqual([sentence.split(": ")[:2] for sentence in found], [
            ["a.py:1", "What"], ["a.py:2", "What"], ["a.py:4", "How"],
        ])  # fmt: skip

    def test_documented_by_another_class_of_the_name(self) -> None:
        """A class is looked up in its own module first."""
        base = "class I(Interface):\n  def f(a): ':param a: an A.'\n"
        texts = {"a.py": "class A(B):\n  def f(self, a): 'Does.'\n", "b.py": base + "class A(I):\n  x: int\n"}
        found = list(documented.undocumented({path: ast.parse(text) for path, text in texts.items()}))
        self.assertEqual(found, ["a.py:2: A.f does not document its arguments"])

    def test_functions_without_a_need(self) -> None:
        """Callbacks of Twisted, setters, overloads, commands of the shell and private functions are not counted."""
        text = (
            "def _f(a): 'Does.'\ndef f(*args): 'Does.'\ndef c(shell, options): 'Does.'\n"
            "class A:\n  def dataReceived(self, data): 'Does.'\n"
            "  @size.setter\n  def size(self, value): 'Sets.'\n  @overload\n  def g(self, a): ...\n"
        )
        self.assertEqual(documented.counts({"a.py": ast.parse(text)}), (0, 0))

    def test_exempt_from_docstrings(self) -> None:
        """Private names need none, nor does a class that is nothing but fields, nor an empty root."""
        rule = architecture.public_names_are_documented
        path = "bookkeeper_twisted/a.py"
        self._finds(rule, path, _DOC + "def _f(): _f()\nclass _A:\n    def f(): pass")
        self._finds(rule, path, _DOC + "class A:\n    x: int = 1")
        self._finds(rule, "tests/__init__.py", "")

    def test_test_without_sentence(self) -> None:
        """A test without a docstring is named; what it uses is free to have none."""
        rule = architecture.public_names_are_documented
        text = _DOC + "def f(): f()\nclass A:\n    def test_it(self): pass"
        self._finds(rule, "tests/test_a.py", text, "tests/test_a.py:4: test_it has no docstring")

    def test_code_in_a_package_root(self) -> None:
        """A function in an ``__init__.py`` is named."""
        path = "bookkeeper_twisted/codec/__init__.py"
        rule = architecture.package_roots_hold_no_code
        self._finds(rule, path, _DOC + "from .v2 import decode\n__all__ = ['decode']")
        self._finds(rule, path, _DOC + "def f(): pass", f"{path}:2: code in a package root")

    def test_tests_in_benchmarks(self) -> None:
        """A benchmark that imports of the tests is named, also where it does so inside of a function."""
        path, rule = "benchmarks/pool/pool.py", architecture.benchmarks_import_no_tests
        self._finds(rule, path, _DOC + "from ..shared.testing import a\nimport testsuite")
        self._finds(rule, path, _DOC + "from tests.bounds import until", f"{path}: imports tests.bounds.until")
        self._finds(rule, path, _DOC + "def f():\n    import tests.bounds", f"{path}: imports tests.bounds")

    def test_foreign_fields(self) -> None:
        """An assignment to a field of another module's class is named, in tuples and sums too; other names are free."""
        rule, path = architecture.fields_have_one_writer, "bookkeeper_twisted/client/bookkeeper.py"
        owner = _DOC + (
            'class A:\n    """A."""\n    __slots__ = ("x",)\n    y: int = 0\n\n'
            "    def f(self, other):\n        self.z, other.x = 1, 2\n"
        )
        for name in "xyz":
            for line in (f"a.{name} = 1", f"a.{name} += 1", f"a.b, a.{name} = c"):
                tree = {"bookkeeper_twisted/client/writing/a.py": owner, path: _DOC + f"def f(a):\n    {line}"}
                expected = [f"{path}:3: assigns the field {name} of another module's class"]
                self.assertEqual(list(rule(tree)), expected)
        tree = {"bookkeeper_twisted/client/writing/a.py": owner, path: _DOC + "def f(a):\n    a.other, self.x = a.x, 1"}
        self.assertEqual(list(rule(tree)), [])
