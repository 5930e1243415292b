"""Layouts: which paths the ledgers of a cluster have, and where their ids come from."""

from collections.abc import Callable

import attrs

from ...codec.metadata_formats.layout import HIERARCHICAL as HIERARCHICAL
from ...codec.metadata_formats.layout import Layout
from ...errors import MetadataError
from .ledger_paths import FLAT_FORM, LONG_FORM, SHORT_FORM, LedgerForm

_PACKAGE = "org.apache.bookkeeper.meta."
LONG_HIERARCHICAL = _PACKAGE + "LongHierarchicalLedgerManagerFactory"
LEGACY_HIERARCHICAL = _PACKAGE + "LegacyHierarchicalLedgerManagerFactory"
FLAT = _PACKAGE + "FlatLedgerManagerFactory"

MAX_SHORT_ID = (1 << 31) - 2
"""The largest id that the 31-bit generator gives, and that has the short path in the default layout."""

_FACTORY_VERSION = 1
_SHORT_NAMES = {"flat": FLAT, "hierarchical": HIERARCHICAL}
"""What layouts of format 1 call their factories."""


@attrs.frozen
class LedgerTree:
    """How the ledgers of one layout are laid out.

    :ivar factory: the Java class that lays them out like this.
    :ivar forms: of the paths, by ascending ids.
    :ivar last_short_id: the largest id that has the first form.
    :ivar id_parent: name of the node below which ids are drawn, empty for the root itself.
    :ivar has_long_ids: whether ids go on beyond 31 bits.
    :ivar prunes: whether parents that become empty are removed.
    """

    factory: str
    forms: tuple[LedgerForm, ...]
    last_short_id: int = (1 << 63) - 1
    id_parent: str = "idgen"
    has_long_ids: bool = True
    prunes: bool = True

    def form_of(self, ledger_id: int) -> LedgerForm:
        """The form of one ledger's path."""
        return self.forms[0 if ledger_id <= self.last_short_id else -1]

    def path_of(self, ledger_id: int) -> str:
        """The path of a ledger below the root."""
        return self.form_of(ledger_id).path(ledger_id)

    def is_top(self, name: str) -> bool:
        """Whether a child of the root holds ledgers, or is one."""
        return any(form.is_top(name) for form in self.forms)


TREES = {
    tree.factory: tree
    for tree in (
        LedgerTree(HIERARCHICAL, (SHORT_FORM, LONG_FORM), last_short_id=MAX_SHORT_ID),
        LedgerTree(LONG_HIERARCHICAL, (LONG_FORM,)),
        LedgerTree(LEGACY_HIERARCHICAL, (SHORT_FORM,), has_long_ids=False, prunes=False),
        LedgerTree(FLAT, (FLAT_FORM,), id_parent="", has_long_ids=False, prunes=False),
    )
}


def new_layout(factory: str | None) -> Layout:
    """The layout of a new cluster, of the class asked for or the usual one."""
    return Layout(factory or HIERARCHICAL, _FACTORY_VERSION)


def tree_of(layout: Layout, factory: str | None, fail: Callable[[str], MetadataError]) -> LedgerTree:
    """The tree that a stored layout asks for.

    :param factory: the class that the URI asks for, None for any.
    :param fail: makes the error.
    :raises MetadataError: they differ, or the layout is unknown here.
    """
    stored = _SHORT_NAMES.get(layout.factory, layout.factory) if layout.format_version == 1 else layout.factory
    if factory not in (None, stored):
        raise fail(f"the cluster has the layout {stored}, the URI asks for {factory}")
    tree = TREES.get(stored)
    if tree is None or layout.factory_version != _FACTORY_VERSION:
        raise fail(f"layout {layout.factory}:{layout.factory_version} is not known")
    return tree
