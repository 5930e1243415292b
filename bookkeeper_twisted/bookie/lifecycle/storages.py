"""Finds the plugin of a ledger storage by the value of ``ledgerStorageClass``.

Twisted imports this module whenever it reads its list of plugins, even for ``twist --help``.  To make this fast, the
code of a storage is imported only when a storage is opened.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from twisted.plugin import IPlugin, getPlugins
from zope.interface import Attribute, Interface, implementer

from ...config.bookie import BookieConfig

if TYPE_CHECKING:
    from ...storage.checkpoint import PersistLogMarks
    from ...storage.interfaces import IFileSystem, ILedgerStorage, IndexFactory
    from ...storage.ledger_storage import StorageSettings

_JAVA = "org.apache.bookkeeper.bookie."


class ILedgerStorageFactory(Interface):
    """A plugin that opens the ledger storage of a bookie, which stores the bookie's entries."""

    names: frozenset[str] = Attribute("Values of ``ledgerStorageClass`` it answers to.")

    def open(
        fs: "IFileSystem", ledger_dirs: Sequence[str], index_dirs: Sequence[str], settings: "StorageSettings",
        make_index: "IndexFactory", persist_log_marks: "PersistLogMarks",
    ) -> "ILedgerStorage":  # fmt: skip
        """Open a storage in existing directories; the call blocks.

        :param ledger_dirs: the ``current`` directories of the entry logs.
        :param index_dirs: the directory of the index of each ledger directory, in the same order.
        :param make_index: opens the index of a directory.
        :param persist_log_marks: called at the end of each checkpoint, with the log marks that the caller of the
            checkpoint passed when the checkpoint began.
        :raises bookkeeper_twisted.errors.StorageError: the directories cannot be served; the text says why and what to
            do.
        """


@implementer(IPlugin, ILedgerStorageFactory)
class EntryLogStorageFactory:
    """The factory of storages that keep entries in entry logs, and an index that says where each entry is.

    These storages can also read the entry logs that any storage of Apache's bookie has written.
    """

    names = frozenset(
        {
            "", "entry-log", _JAVA + "SortedLedgerStorage", _JAVA + "InterleavedLedgerStorage",
            _JAVA + "storage.ldb.DbLedgerStorage",
        }
    )  # fmt: skip

    def open(
        self, fs: "IFileSystem", ledger_dirs: Sequence[str], index_dirs: Sequence[str], settings: "StorageSettings",
        make_index: "IndexFactory", persist_log_marks: "PersistLogMarks",
    ) -> "ILedgerStorage":  # fmt: skip
        """Open a storage of entry logs and indexes in existing directories; the call blocks."""
        from ...storage.ledger_storage import LedgerStorage

        return LedgerStorage.open(fs, ledger_dirs, index_dirs, settings, make_index, persist_log_marks)


def ledger_storage_factory(config: BookieConfig) -> ILedgerStorageFactory:
    """Find the factory for the value of ``ledgerStorageClass``.

    :raises bookkeeper_twisted.errors.ConfigError: no plugin has that name.
    """
    factories: Iterable[ILedgerStorageFactory] = getPlugins(ILedgerStorageFactory)
    return config.chosen("ledger_storage_class", factories, "ledger storage")
