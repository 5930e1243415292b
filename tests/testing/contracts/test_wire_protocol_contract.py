"""The contract of wire protocols notices one that breaks it."""

import unittest
from collections.abc import Sequence
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.adds import Adds, frames_and_replies
from bookkeeper_twisted.codec.runs import ReadRun
from bookkeeper_twisted.codec.wires import V2Protocol, V3Protocol
from bookkeeper_twisted.errors import Status
from bookkeeper_twisted.testing.contracts import wire_protocol_contract


class _Boastful(V2Protocol):
    """Says that it has every request."""

    complete = True


class _Prophet(V3Protocol):
    """Foretells replies that do not come."""

    add_reply_size = 28

    def encode_adds(self, adds: Adds, first_number: int) -> tuple[bytes, bytes]:
        frames, _ = super().encode_adds(adds, first_number)
        return frames, b"" if adds.deferred_sync else frames_and_replies(adds)[1]


class _Forgetful(V3Protocol):
    """Numbers every request alike, and answers reads with a status only."""

    def encode_adds(self, adds: Adds, first_number: int) -> tuple[bytes, bytes]:
        return super().encode_adds(adds, 0)

    def read_replies(
        self, run: ReadRun, first: int, entries: Sequence[bytes | memoryview], lacs: Sequence[int] = ()
    ) -> bytes:  # fmt: skip
        return b"".join([self.read_reply(run, first + n, Status.EOK, b"") for n in range(len(entries))])


def _failures(made: Any) -> set[str]:
    class Case(wire_protocol_contract.WireProtocolContract):
        def make(self) -> Any:
            return made

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    return {case.id().rpartition(".")[2] for case, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """Broken protocols."""

    def test_broken(self) -> None:
        """What a protocol promises and does not do is found; the included ones pass."""
        self.assertEqual(_failures(V2Protocol()) | _failures(V3Protocol()), set())
        self.assertEqual(_failures(_Boastful()), {"test_cold_requests", "test_deferred_sync"})
        self.assertEqual(_failures(_Prophet()), {"test_expected_replies"})
        self.assertEqual(_failures(_Forgetful()), {"test_add_replies", "test_reads"})
