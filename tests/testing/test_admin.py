"""The administration without a bookie passes the contract of administrations."""

from bookkeeper_twisted.bookie.admin import Phase
from bookkeeper_twisted.testing.admin import FakeBookieAdmin
from bookkeeper_twisted.testing.contracts import admin_contract


class FakeBookieAdminTests(admin_contract.BookieAdminContract):
    """The contract on the fake."""

    def setUp(self) -> None:
        self.admin = FakeBookieAdmin()

    def stop_bookie(self) -> None:
        self.admin.phase = Phase.STOPPED

    def store_entries(self) -> None:
        """There are some."""

    def fill_disk(self) -> None:
        self.admin.other_reasons = ("a disk is full",)
