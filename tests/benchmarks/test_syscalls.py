"""What strace prints."""

from twisted.trial.unittest import SynchronousTestCase

from benchmarks.compare.syscalls import count

_TRACE = """\
812 sendto(14<TCP:[127.0.0.1:3181->127.0.0.1:50000]>, ""..., 2800, 0, NULL, 0) = 2800
812 sendmsg(14<socket:[4711]>, {msg_name=NULL}, 0) = 28
815 pwrite64(9</data/journal/1.txn>, ""..., 4096, 0) = 4096
815 fdatasync(9</data/journal/1.txn> <unfinished ...>
816 pwritev(10</data/ledgers/0.log>, [{iov_base=""..., iov_len=10}], 1, 0) = 10
815 <... fdatasync resumed>) = 0
817 fsync(11</data/ledgers/current>) = 0
812 write(5<pipe:[12]>, ""..., 1) = 1
""".splitlines()


class CountTests(SynchronousTestCase):
    """A trace of 500 adds."""

    def test_count(self) -> None:
        """Writes are sorted by what they go to; a call in two lines is one; what is neither is left out."""
        expected = {"socket writes": 4.0, "fdatasync": 2.0, "fsync": 2.0, "file writes": 4.0}
        self.assertEqual(count(_TRACE, 500).per_1000, expected)

    def test_met(self) -> None:
        """20 socket writes and 10 syncs for 1,000 adds are allowed."""
        writes = ['1 write(1<TCP:[1]>, ""..., 1) = 1'] * 20
        syncs = ["1 fsync(2</f>) = 0"] * 4 + ["1 fdatasync(2</f>) = 0"] * 6
        self.assertTrue(count(writes + syncs, 1000).met)
        self.assertFalse(count([*writes, *syncs, writes[0]], 1000).met)
        self.assertFalse(count([*writes, *syncs, syncs[0]], 1000).met)
