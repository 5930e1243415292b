"""The contract of administrations notices one that breaks it."""

import unittest
from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.bookie.admin import BookieState, DirectoryUsage, Phase
from bookkeeper_twisted.limits.ratelimit import Rate
from bookkeeper_twisted.testing.admin import FakeBackgroundWork, FakeBookieAdmin
from bookkeeper_twisted.testing.contracts import admin_contract


class _Forgetful(FakeBookieAdmin):
    """Forgets every reason when the administrator withdraws one."""

    def set_read_only(self, read_only: bool) -> None:
        super().set_read_only(read_only)
        if not read_only:
            self.other_reasons = ()


class _Silent(FakeBookieAdmin):
    """Gives no reasons."""

    def state(self) -> BookieState:
        state = super().state()
        return BookieState(state.phase, state.read_only)


class _Late(FakeBookieAdmin):
    """Measures disks after the stop, more free bytes than there are."""

    def disks(self) -> "Deferred[Sequence[DirectoryUsage]]":
        return succeed([DirectoryUsage("/l", 1, 2)])


class _Half(FakeBookieAdmin):
    """Changes keys one by one, the good ones before the refusal."""

    def configure(self, values: Mapping[str, str]) -> None:
        for key, value in values.items():
            super().configure({key: value})


class _Tireless(FakeBackgroundWork):
    """Compacts although it is suspended, and takes limits one by one."""

    def collect(self, major: bool = True, minor: bool = True) -> None:
        self.collections.append((major, minor))
        self.majors += major
        self.minors += minor and not major
        self.last_major = self.last_minor = 2e9

    def set_limits(self, rates: Mapping[str, Rate], latency_bound: float | None = None) -> None:
        for name, rate in rates.items():
            super().set_limits({name: rate}, latency_bound)


def _failures(kind: Any) -> set[str]:
    class Case(admin_contract.BookieAdminContract):
        def setUp(self) -> None:
            self.admin = kind()

        def stop_bookie(self) -> None:
            self.admin.phase = Phase.STOPPED

        def store_entries(self) -> None:
            """There are some."""

        def fill_disk(self) -> None:
            self.admin.other_reasons = ("full",)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
    return {case.id().rpartition(".")[2] for case, _ in [*result.failures, *result.errors]}


class ContractTests(SynchronousTestCase):
    """Broken administrations."""

    def test_broken(self) -> None:
        """Reasons that are lost or not given, and wrong disks, are found; the fake as it is passes."""
        self.assertEqual(_failures(FakeBookieAdmin), set())
        self.assertEqual(_failures(_Forgetful), {"test_other_reason"})
        self.assertEqual(_failures(_Silent), {"test_read_only", "test_other_reason", "test_since"})
        self.assertEqual(_failures(_Late), {"test_disks", "test_stopped"})
        self.assertEqual(_failures(_Half), {"test_configure"})

    def test_broken_background_work(self) -> None:
        """Work that ignores its suspension, and limits that are changed in part, are found."""
        found = _failures(lambda: FakeBookieAdmin(work=_Tireless()))
        self.assertEqual(found, {"test_suspension", "test_limits"})
