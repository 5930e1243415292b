"""Files whose changes are noticed."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.security.files import identity_of


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
