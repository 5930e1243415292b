"""The LAYOUT record: how ledgers are arranged below the root of a metadata store such as ZooKeeper.

Its form is ``<format version> LF <factory class> : <factory version>``, without a final LF.
"""

import attrs

from ...errors import CodecError
from .forms import codec_errors, decimal

FORMAT_VERSION = 2
HIERARCHICAL = "org.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory"


@attrs.frozen
class Layout:
    """The arrangement of ledgers in a metadata store, as the LAYOUT record describes it.

    :ivar factory: class name of Java's ledger manager factory; in format version 1 ``flat`` or ``hierarchical``.
    """

    factory: str = HIERARCHICAL
    factory_version: int = 1
    format_version: int = FORMAT_VERSION

    def encode(self) -> bytes:
        """Encode the LAYOUT record, which says how ledgers are stored in ZooKeeper.

        :raises CodecError: the class name cannot be stored.
        """
        text = f"{self.format_version}\n{self.factory}:{self.factory_version}"
        with codec_errors("layout"):
            if self.parse(text.encode("utf-8")) != self:
                raise CodecError(f"{self!r} has no form")
            return text.encode("utf-8")

    @classmethod
    def parse(cls, data: bytes) -> "Layout":
        """Decode a LAYOUT record.

        :raises CodecError: the bytes are not a layout.
        """
        with codec_errors("layout"):
            lines = data.decode("utf-8").split("\n")
            if len(lines) < 2 or any(lines[2:]):
                raise CodecError("not two lines")
            format_version = decimal(lines[0], 32)
            if not 1 <= format_version <= FORMAT_VERSION:
                raise CodecError(f"format version {format_version} is unknown")
            factory, colon, version = lines[1].partition(":")
            if not factory or not colon:
                raise CodecError("not factory:version")
            return cls(factory, decimal(version, 32), format_version)
