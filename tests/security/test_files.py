"""Files whose changes are noticed."""

import gc
from pathlib import Path
from unittest import mock

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.security import files
from bookkeeper_twisted.security.files import CopyInMemory, identity_of


class IdentityTests(SynchronousTestCase):
    """``identity_of``."""

    def test_changes(self) -> None:
        """A file that was replaced, removed or written again looks different; one that was read does not."""
        path = Path(self.mktemp())
        path.write_bytes(b"1")
        found = [identity_of(str(path))]
        path.read_bytes()
        self.assertEqual(identity_of(str(path)), found[0])
        other = Path(self.mktemp())
        other.write_bytes(b"1")
        other.replace(path)
        found.append(identity_of(str(path)))
        path.write_bytes(b"22")
        found.append(identity_of(str(path)))
        path.unlink()
        found.append(identity_of(str(path)))
        self.assertEqual(len(set(found)), 4)
        self.assertIsNone(found[-1])
        self.assertIsNone(identity_of("a\0b"))


class CopyTests(SynchronousTestCase):
    """``CopyInMemory``."""

    def test_content(self) -> None:
        """The copy keeps its content when the file is changed or gone, can be read again, and ends with its object."""
        path = Path(self.mktemp())
        path.write_bytes(b"keys")
        copy = CopyInMemory(str(path), path.read_bytes())
        path.write_bytes(b"others")
        path.unlink()
        for _ in range(2):
            self.assertEqual(Path(copy.path).read_bytes(), b"keys")
        where = Path(copy.path)
        del copy
        gc.collect()
        self.assertFalse(where.exists())

    def test_other_systems(self) -> None:
        """Where there are no files in memory, the file itself is read."""
        with mock.patch.object(files, "os", mock.Mock(spec=["fdopen"])):
            self.assertEqual(CopyInMemory("/keys", b"keys").path, "/keys")
