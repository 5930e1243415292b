"""Contents and changes of the simulated disk."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from .state import EMPTY, SECTOR, Content, Directory, Inode, Resize, Write, changed, cut

_WRITES = st.lists(st.tuples(st.integers(0, 2000), st.binary(min_size=1, max_size=1200)), max_size=6)


class ContentTests(SynchronousTestCase):
    """Contents are values."""

    def test_digest_is_of_the_bytes(self) -> None:
        """A sector of zeros is like no sector; the size counts."""
        self.assertEqual(Content({0: bytes(SECTOR)}, 512).digest(), Content({}, 512).digest())
        self.assertNotEqual(Content({}, 512).digest(), Content({}, 513).digest())
        self.assertNotEqual(Content({0: b"a" * SECTOR}, 1024).digest(), Content({1: b"a" * SECTOR}, 1024).digest())

    def test_changed_leaves_the_original(self) -> None:
        """Applying changes gives a new content."""
        before = Content({0: b"a" * SECTOR}, 512)
        after = changed(before, [Write(1, 0, b"b" * SECTOR), Resize(1, 10, True)])
        self.assertEqual((before.sectors[0], after.size), (b"a" * SECTOR, 10))
        self.assertEqual(after.sectors[0], (b"b" * 10).ljust(SECTOR, b"\0"))

    def test_cut(self) -> None:
        """What is cut reads as zeros if the size grows again."""
        sectors = {0: b"a" * SECTOR, 1: b"b" * SECTOR}
        cut(sectors, 100)
        self.assertEqual(sectors, {0: (b"a" * 100).ljust(SECTOR, b"\0")})


class InodeTests(SynchronousTestCase):
    """Files."""

    @settings(max_examples=60)
    @given(_WRITES)
    def test_like_a_byte_array(self, writes: list[tuple[int, bytes]]) -> None:
        """Any writes read back as they do from a byte array, before and after a sync."""
        inode, expected = Inode(), bytearray()
        for step, (offset, data) in enumerate(writes):
            expected.extend(bytes(max(0, offset + len(data) - len(expected))))
            expected[offset : offset + len(data)] = data
            inode.write(step, data, offset)
        self.assertEqual(inode.read(10000, 0), bytes(expected))
        inode.sync()
        self.assertEqual(Inode(inode.durable).read(10000, 0), bytes(expected))
        self.assertEqual(inode.changes(), [])

    def test_shared_until_written(self) -> None:
        """A file on a crash state shares its content until it is written."""
        content = Content({0: b"a" * SECTOR}, 512)
        one, other = Inode(content), Inode(content)
        self.assertIs(one.sectors, content.sectors)
        one.write(1, b"b", 0)
        self.assertEqual((other.read(1, 0), content.sectors[0][:1]), (b"a", b"a"))

    def test_empty(self) -> None:
        """A new file is empty."""
        self.assertEqual(Inode().read(10, 0), b"")
        self.assertEqual(EMPTY.size, 0)


class DirectoryTests(SynchronousTestCase):
    """Names."""

    def test_rename_moves(self) -> None:
        """A file has one name also where an earlier rename was lost."""
        directory, inode = Directory({"a": Inode()}), Inode()
        directory.durable["x"] = directory.names["x"] = inode
        directory.change(1, "x", "y", inode)
        directory.change(2, "y", "z", inode)
        directory.pending.pop(0)
        directory.sync()
        self.assertEqual(sorted(directory.durable), ["a", "z"])

    def test_lost_names_that_were_used_again(self) -> None:
        """What a failed sync lost no longer matters where a later change of the name is durable."""
        directory, inode = Directory(), Inode()
        directory.change(1, "", "a", inode)
        directory.lose()
        directory.change(2, "a", "", inode)
        directory.sync()
        self.assertEqual((directory.changes(), directory.durable), ([], {}))
