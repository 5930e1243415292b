"""The reference of the API, which pydoctor writes, and the links from the guide to it."""

import importlib
import importlib.util
import inspect
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from bookkeeper_twisted import errors
from docs import reference_links

from .first_hour.documents import pages

ROOT = Path(__file__).parents[1]

PUBLIC = ("bookkeeper_twisted", "bookkeeper_twisted.aio", "bookkeeper_twisted.blocking", "bookkeeper_twisted.testing")

GUIDE = ("client", "errors", "placement", "plugins", "quickstart", "spark", "testing")
"""Pages that name parts of the API."""


def public_names() -> Iterator[tuple[str, Any]]:
    """The full names of what is public, and what each is."""
    for module_name in PUBLIC:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", None) or _defined(module):
            yield f"{module_name}.{name}", getattr(module, name)


def _defined(module: Any) -> list[str]:
    """The public names of a module that does not list them."""
    found = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return [name for name in found if not name.startswith("_")]


def public_methods(kind: type) -> set[str]:
    """The methods of a class that are ours and not private."""
    return {
        name
        for base in kind.__mro__
        if base.__module__.startswith("bookkeeper_twisted.")
        for name, value in vars(base).items()
        if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, property))
    }


class ReferenceTests(SynchronousTestCase):
    """What pydoctor shows with the settings of ``pyproject.toml``."""

    maxDiff = None
    timeout = 300
    _system: ClassVar[Any] = None

    def setUp(self) -> None:
        """Read the package as ``make docs`` does."""
        if importlib.util.find_spec("pydoctor") is None:
            raise SkipTest("pydoctor is not installed (extra dev)")
        if ReferenceTests._system is None:
            ReferenceTests._system = self._read()

    @staticmethod
    def _read() -> Any:
        from pydoctor.driver import get_system
        from pydoctor.options import Options

        before = Path.cwd()
        os.chdir(ROOT)  # pydoctor looks for its settings here
        try:
            with redirect_stdout(StringIO()):
                return get_system(Options.from_args(["--quiet", "--quiet", "bookkeeper_twisted"]))
        finally:
            os.chdir(before)

    def _found(self, name: str) -> Any:
        """What pydoctor knows by a name, which may have moved to where it is exported."""
        found = self._system.find_object(name)
        return found if found is not None and found.isVisible else None

    def test_methods(self) -> None:
        """Every public method of every public class is on the page of the class."""
        from pydoctor.templatewriter.util import class_members

        missing, count = [], 0
        for name, kind in public_names():
            if inspect.isclass(kind):
                found = self._found(f"{kind.__module__}.{kind.__qualname__}")
                shown = {m.name for _, members in class_members(found) for m in members} if found else set()
                methods = public_methods(kind)
                count += len(methods)
                missing += [f"{name}.{method}" for method in sorted(methods - shown)]
        self.assertEqual(missing, [])
        self.assertGreater(count, 100)

    def test_markup(self) -> None:
        """Every docstring is reStructuredText without errors; else the command that builds the reference fails."""
        from pydoctor.epydoc2stan import ensure_parsed_docstring

        with redirect_stdout(StringIO()) as errors:
            for documented in self._system.allobjects.values():
                ensure_parsed_docstring(documented)
        self.assertEqual((errors.getvalue(), self._system.parse_errors), ("", {}))

    def test_links(self) -> None:
        """Every link of the guide leads to something that is shown."""
        for page, text in pages(ROOT).items():
            for target in re.findall(r":api:`(?:[^`<]*<)?([^`>]+)>?`", text):
                with self.subTest(f"{page}: {target}"):
                    file, _, anchor = reference_links.address(target).partition("#")
                    found = self._found(file.removesuffix(".html"))
                    self.assertIsNotNone(found)
                    self.assertEqual(found.fullName(), file.removesuffix(".html"))
                    if anchor:
                        self.assertIn(anchor, found.contents)


class GuideTests(SynchronousTestCase):
    """The pages of the guide."""

    def test_linked(self) -> None:
        """A page that names a public class or error links to it."""
        exported = {name.rpartition(".")[2] for name, kind in public_names() if inspect.isclass(kind)}
        exported |= {name for name in vars(errors) if name.endswith("Error")}
        for page in GUIDE:
            text = pages(ROOT)[f"docs/{page}.rst"]
            linked = set(re.findall(r"\w+", " ".join(re.findall(r":api:`([^`]+)`", text))))
            named = {word for literal in re.findall(r"``([^`]+)``", text) for word in re.findall(r"\w+", literal)}
            with self.subTest(page):
                self.assertEqual(sorted((named & exported) - linked), [])
                self.assertNotEqual(linked, set())
