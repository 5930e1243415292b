"""The contract of file systems notices providers that break it."""

from collections.abc import Callable
from unittest import TestResult

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.storage.interfaces import IFile, IFileSystem
from bookkeeper_twisted.testing.contracts.filesystem_contract import make_filesystem_tests

from ...simulated_disk.sim_disk import SimDisk


class _Overwrites(SimDisk):
    """Creating a file that exists empties it."""

    def open(self, path: str, create: bool = False, direct: bool = False) -> IFile:
        if create and self.exists(path):
            self.unlink(path)
        return super().open(path, create, direct)


class _TellsHalf(SimDisk):
    """Gives the part that memory holds."""

    def open(self, path: str, create: bool = False, direct: bool = False) -> IFile:
        file = super().open(path, create, direct)
        file.pread_resident = lambda size, offset: file.pread(size - 1, offset)  # type: ignore[method-assign]
        return file


class _Unsorted(SimDisk):
    """Lists names backwards."""

    def list(self, path):
        return super().list(path)[::-1]


def _failures(make: Callable[[], SimDisk]) -> int:
    def provide(case: SynchronousTestCase) -> tuple[IFileSystem, str]:
        disk = make()
        disk.make_directories("/base")
        return disk, "/base"

    suite = make_filesystem_tests(provide)
    result = TestResult()
    for name in dir(suite):
        if name.startswith("test_"):
            suite(name).run(result)
    return len(result.failures) + len(result.errors)


class ContractTests(SynchronousTestCase):
    """The suite, run on good and bad providers."""

    def test_good_provider(self) -> None:
        """The simulated disk passes."""
        self.assertEqual(_failures(SimDisk), 0)

    def test_bad_providers(self) -> None:
        """Each broken rule fails at least one test."""
        for broken in (_Overwrites, _TellsHalf, _Unsorted):
            self.assertGreater(_failures(broken), 0, broken.__name__)
