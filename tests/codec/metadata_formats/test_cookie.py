"""Cookies against what Java stored, and against each other."""

import attrs
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.metadata_formats import Cookie
from bookkeeper_twisted.errors import CodecError, InvalidCookieError
from tests.vectors.znodes import under, version_files

_COOKIE = Cookie("10.0.0.1:3181", "/data/j", ("/data/l1", "/data/l2"), None, "6a2a4e6e-0000-4000-8000-000000000001")
_BYTES = (
    b'5\nbookieHost: "10.0.0.1:3181"\njournalDir: "/data/j"\nledgerDirs: "2\\t/data/l1\\t/data/l2"\n'
    b'instanceId: "6a2a4e6e-0000-4000-8000-000000000001"\n'
)
_path = st.text(st.characters(exclude_characters="\t", exclude_categories=["Cs"]), max_size=8)
_paths = st.lists(_path, min_size=1, max_size=3).map(tuple)


class FormatTests(SynchronousTestCase):
    """Bytes."""

    def test_captured(self) -> None:
        """Cookies of the store and ``VERSION`` files encode back to the same bytes."""
        files = [*[node.data for node in under("/cookies/")], *version_files().values()]
        self.assertGreater(len(files), 40)
        for data in files:
            self.assertEqual(Cookie.parse(data).encode(), data)

    def test_captured_values(self) -> None:
        """A bookie with two directories of each kind."""
        found = Cookie.parse(version_files()["db-two-dirs-killed/files/l0/current/VERSION"])
        self.assertEqual(found.ledger_dirs, ("/bk/db-two-dirs/l0", "/bk/db-two-dirs/l1"))
        self.assertEqual(found.journal_dirs, "/bk/db-two-dirs/j0,/bk/db-two-dirs/j1")
        self.assertEqual(found.index_dirs, ("/bk/db-two-dirs/i0", "/bk/db-two-dirs/i1"))

    def test_example(self) -> None:
        """The worked example."""
        self.assertEqual(_COOKIE.encode(), _BYTES)
        self.assertEqual(Cookie.parse(_BYTES), _COOKIE)

    def test_version_3(self) -> None:
        """Version 3 is read from plain lines, and never written."""
        for end in (b"", b"\n"):
            found = Cookie.parse(b"3\nb:1\n/j\n1\t/l" + end)
            self.assertEqual(found, Cookie("b:1", "/j", ("/l",), layout_version=3))
        self.assertRaises(CodecError, found.encode)

    def test_version_4(self) -> None:
        """Version 4 has the form of version 5, and keeps its number."""
        old = _BYTES.replace(b"5\n", b"4\n", 1)
        self.assertEqual(Cookie.parse(old).layout_version, 4)
        self.assertEqual(Cookie.parse(old).encode(), old)

    def test_refused(self) -> None:
        """Other versions, missing fields and lists whose count is wrong are refused."""
        for data in (
            b"", b"5", b"5\n", b"2\nb\n/j\n1\t/l", b"6\n" + _BYTES[2:], b"x\n", b"\xff\n", b"3\nb\n/j\n",
            _BYTES.replace(b'"2', b'"3'), _BYTES.replace(b"\\t", b" "), _BYTES.replace(b"journalDir", b"journalDirs"),
            _BYTES[:40],
        ):  # fmt: skip
            with self.subTest(data):
                self.assertRaises(CodecError, Cookie.parse, data)

    def test_directories_that_cannot_be_stored(self) -> None:
        """No ledger directory, or one with a TAB in its name, has no form."""
        for directories in ((), ("/a\tb",)):
            self.assertRaises(CodecError, attrs.evolve(_COOKIE, ledger_dirs=directories).encode)

    @given(st.builds(Cookie, _path, _path, _paths, st.none() | _paths, st.none() | _path, st.sampled_from([4, 5])))
    def test_round_trip(self, cookie: Cookie) -> None:
        """Every cookie comes back."""
        self.assertEqual(Cookie.parse(cookie.encode()), cookie)

    @given(st.sampled_from([b"", b"3\n", b"4\n", b"5\n", _BYTES]), st.binary(max_size=60))
    def test_arbitrary_bytes(self, head: bytes, tail: bytes) -> None:
        """Arbitrary bytes are a cookie or CodecError."""
        try:
            Cookie.parse(head + tail)
        except CodecError:
            pass


class VerifyTests(SynchronousTestCase):
    """:meth:`Cookie.verify` (S6)."""

    def _refused(self, expected: Cookie, stored: Cookie, field: str, expansion: bool = False) -> None:
        error = self.assertRaises(InvalidCookieError, expected.verify, stored, expansion)
        self.assertIn(field, str(error))

    def test_same(self) -> None:
        """The same cookie in any readable layout is good."""
        for version in (3, 4, 5):
            _COOKIE.verify(attrs.evolve(_COOKIE, layout_version=version))

    def test_each_field(self) -> None:
        """A difference in any field is refused and named."""
        for field, changes in (
            ("bookie id", {"bookie_id": "other:1"}),
            ("journal directories", {"journal_dirs": "/data/j2"}),
            ("ledger directories", {"ledger_dirs": ("/data/l2", "/data/l1")}),
            ("index directories", {"index_dirs": ("/data/i",)}),
            ("instance id", {"instance_id": "other"}),
            ("instance id", {"instance_id": None}),
            ("layout version", {"layout_version": 2}),
        ):
            with self.subTest(field):
                self._refused(_COOKIE, attrs.evolve(_COOKIE, **changes), field)
        self._refused(attrs.evolve(_COOKIE, instance_id=None), _COOKIE, "instance id")

    def test_index_directories_default(self) -> None:
        """No index directories are the ledger directories, on either side."""
        explicit = attrs.evolve(_COOKIE, index_dirs=_COOKIE.ledger_dirs)
        _COOKIE.verify(explicit)
        explicit.verify(_COOKIE)

    def test_expansion(self) -> None:
        """With expansion, directories may have come and changed order, none may be missing."""
        more = attrs.evolve(_COOKIE, ledger_dirs=("/data/l3", "/data/l2", "/data/l1"))
        more.verify(_COOKIE, allow_expansion=True)
        self._refused(more, _COOKIE, "ledger directories")
        self._refused(_COOKIE, more, "ledger directories", expansion=True)

    def test_expansion_in_pairs(self) -> None:
        """A ledger directory keeps its index directory when others join: an index speaks for no other logs."""
        before = attrs.evolve(_COOKIE, ledger_dirs=("/l1", "/l2"), index_dirs=("/i1", "/i2"))
        after = attrs.evolve(_COOKIE, ledger_dirs=("/l1", "/l2", "/l3"), index_dirs=("/i1", "/i2", "/i3"))
        after.verify(before, allow_expansion=True)
        mixed_up = attrs.evolve(after, index_dirs=("/i2", "/i1", "/i3"))
        self._refused(mixed_up, before, "pairs of ledger and index directory", expansion=True)
        more = attrs.evolve(_COOKIE, ledger_dirs=("/data/l3", "/data/l2", "/data/l1"))
        self._refused(attrs.evolve(more, journal_dirs="/x"), _COOKIE, "journal directories", expansion=True)
