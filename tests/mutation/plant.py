"""One change of the source, and the tests that should notice it."""

from collections.abc import Sequence

import attrs

PACKAGE = "bookkeeper_twisted/"


class StalePlantError(Exception):
    """The text of a plant does not occur in its file exactly as often as it should."""


@attrs.frozen
class Plant:
    """A defect made by a replaced text.

    :ivar name: what goes wrong, in a few words.
    :ivar file: path of the module, relative to the package.
    :ivar old: occurs in the module exactly once.
    :ivar new: what stands in its place.
    :ivar tests: dotted names of test modules, classes or methods.
    """

    name: str
    file: str
    old: str
    new: str
    tests: Sequence[str]

    @property
    def path(self) -> str:
        """The module's path below the root of the repository."""
        return PACKAGE + self.file

    @property
    def room(self) -> str:
        """The module's folder, by which plants are chosen."""
        return self.file.rpartition("/")[0]

    def applied(self, source: str) -> str:
        """The module's source with the defect.

        :raises StalePlantError: if the old text does not occur exactly once.
        """
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
