"""The simulated stand-in of RocksDB."""

from bookkeeper_twisted.storage.apache.interfaces import IKeyValues
from bookkeeper_twisted.testing.contracts import key_values_contract

from .sim_disk import SimDisk
from .sim_key_values import SimKeyValues


class SimKeyValuesTests(key_values_contract.KeyValuesContract):
    """On a disk of its own each."""

    def setUp(self) -> None:
        self.disk = SimDisk()

    def open(self, name: str, create: bool) -> IKeyValues:
        return SimKeyValues.open(self.disk, f"/{name}", create)
