"""Ordered maps on disk by RocksDB."""

import os
import sys

from twisted.trial.unittest import SkipTest, SynchronousTestCase

from bookkeeper_twisted.errors import DamageError, StorageError
from bookkeeper_twisted.storage.apache.interfaces import IKeyValues
from bookkeeper_twisted.storage.apache.rocksdb import RocksKeyValues
from bookkeeper_twisted.storage.files.filesystem import RealFileSystem
from bookkeeper_twisted.testing.contracts import key_values_contract

from ...simulated_disk.sim_disk import SimDisk


def need_rocksdict() -> None:
    """:raises SkipTest: the extra ``rocksdb`` is not installed."""
    try:
        import rocksdict  # noqa: F401
    except ImportError:
        raise SkipTest("rocksdict is not installed: pip install 'bookkeeper-twisted[rocksdb]'") from None


class RocksTests(key_values_contract.KeyValuesContract):
    """RocksDB."""

    def setUp(self) -> None:
        need_rocksdict()
        self.folder = os.path.abspath(self.mktemp())
        os.makedirs(self.folder)

    def open(self, name: str, create: bool) -> IKeyValues:
        return RocksKeyValues.open(RealFileSystem(), os.path.join(self.folder, name), create)

    def test_damaged(self) -> None:
        """A damaged file is damage, not an absent pair."""
        database = self.open("a", True)
        database.put([(b"key", b"value")])
        database.flush()
        database.close()
        folder = os.path.join(self.folder, "a")
        for name in os.listdir(folder):
            if name.startswith("MANIFEST"):
                with open(os.path.join(folder, name), "r+b") as file:
                    file.seek(20)
                    file.write(b"damage, damage")
        self.assertRaises(DamageError, self.open, "a", False)

    def test_files(self) -> None:
        """Nothing is left beside the files of RocksDB."""
        database = self.open("a", True)
        database.close()
        self.assertEqual([name for name in os.listdir(os.path.join(self.folder, "a")) if "rocksdict" in name], [])


class WithoutLibraryTests(SynchronousTestCase):
    """The extra is not installed."""

    def test_text(self) -> None:
        """The error says what to install."""
        imported = sys.modules.get("rocksdict")
        sys.modules["rocksdict"] = None  # type: ignore[assignment]
        if imported is not None:  # cleanups run in the opposite order
            self.addCleanup(sys.modules.__setitem__, "rocksdict", imported)
        self.addCleanup(sys.modules.pop, "rocksdict")
        error = self.assertRaises(StorageError, RocksKeyValues.open, SimDisk(), "/a", False)
        self.assertIn("pip install 'bookkeeper-twisted[rocksdb]'", str(error))
