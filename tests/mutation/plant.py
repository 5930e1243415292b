"""One change of the source, and the tests that should notice it."""

from collections.abc import Sequence

import attrs

from .fragment import FragmentError, replace_code

PACKAGE = "bookkeeper_twisted/"


class StalePlantError(Exception):
    """The code of a plant does not occur exactly once where the plant says."""


@attrs.frozen
class Plant:
    """A defect made by replaced code.

    :ivar name: what goes wrong, in a few words.
    :ivar file: path of the module, relative to the package.
    :ivar old: an expression or statements that occur exactly once; see :mod:`.fragment`.
    :ivar new: what stands in their place.
    :ivar tests: dotted names of test modules, classes or methods.
    :ivar where: the function or class that has the code, ``Class.method``; empty for the whole module.
    """

    name: str
    file: str
    old: str
    new: str
    tests: Sequence[str]
    where: str = attrs.field(kw_only=True)

    @property
    def path(self) -> str:
        """The module's path below the root of the repository."""
        return PACKAGE + self.file

    @property
    def room(self) -> str:
        """The module's folder, by which plants are chosen."""
        return self.file.rpartition("/")[0]

    def applied(self, source: str) -> str:
        """Return the module's source with the defect.

        :raises StalePlantError: if the old code does not occur exactly once.
        """
        try:
            return replace_code(source, self.where, self.old, self.new)
        except FragmentError as error:
            raise StalePlantError(f"{self.name}: {error}; {self.path}") from None


@attrs.frozen
class TextPlant(Plant):
    """A defect made by a replaced text, for what is no code of its own: a comment, a sentence of a docstring.

    :ivar old: occurs in the module exactly once.
    """

    where: str = attrs.field(default="", init=False)

    def applied(self, source: str) -> str:
        found = source.count(self.old)
        if found != 1:
            raise StalePlantError(f"{self.name}: its text occurs {found} times in {self.path}")
        return source.replace(self.old, self.new)


@attrs.frozen
class PlantedTest:
    """A test that makes a defect by itself and passes if the defect is noticed.

    :ivar name: the first line of its docstring.
    :ivar test: its dotted name.
    """

    name: str
    test: str

    @property
    def room(self) -> str:
        """The folder of its module below ``tests``."""
        return "/".join(part for part in self.test.split(".")[1:-2] if not part.startswith("test_"))
