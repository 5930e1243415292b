"""Layouts: a layout defines the paths of ledger nodes, and the node below which ledger ids are generated.

The path of a ledger is its decimal id, cut into groups of digits, with ``L`` before the last group
(:class:`LedgerForm`).
"""

import re
from collections.abc import Callable

import attrs

from ....codec.metadata_formats.layout import HIERARCHICAL as HIERARCHICAL
from ....codec.metadata_formats.layout import Layout
from ....errors import IncorrectParameterError, MetadataError


@attrs.frozen
class LedgerForm:
    """A rule that makes the path of a ledger's node from the ledger id.

    :ivar groups: number of digits in each part of the path.
    """

    groups: tuple[int, ...]

    def path(self, ledger_id: int) -> str:
        """Return the path of a ledger, relative to the root of the cluster.

        :raises IncorrectParameterError: the id has more digits than the path can contain.
        """
        digits = f"{ledger_id:0{sum(self.groups)}d}"
        if len(digits) > sum(self.groups) and len(self.groups) > 1:
            raise IncorrectParameterError(f"ledger id {ledger_id} is too large for the layout of this cluster")
        parts = []
        for group in reversed(self.groups[1:]):
            digits, part = digits[:-group], digits[-group:]
            parts.append(part)
        parts.append(digits)
        parts[0] = "L" + parts[0]
        return "/".join(reversed(parts))

    def is_top(self, name: str) -> bool:
        """Test whether the node ``name``, a child of the root, can be the first node in the path of a ledger."""
        return self.digits(0, name) is not None

    def digits(self, level: int, name: str) -> str | None:
        """Return the digits of the ledger id in the name of a node; None if this rule does not make such a name.

        :param level: depth of the node; 0 for children of the root.
        :param name: the last part of the node's path.
        """
        is_leaf = level == len(self.groups) - 1
        more = "," if is_leaf and not level else ""
        pattern = rf"{'L' if is_leaf else ''}([0-9]{{{self.groups[level]}{more}}})"
        found = re.fullmatch(pattern, name)
        return None if found is None else found[1]

    def span(self, digits: str) -> tuple[int, int]:
        """Return the smallest and the largest ledger id whose digits, with leading zeros, begin with ``digits``."""
        rest = max(sum(self.groups) - len(digits), 0)
        first = int(digits or 0) * 10**rest
        return first, first + 10**rest - 1


SHORT_FORM = LedgerForm((2, 4, 4))
LONG_FORM = LedgerForm((3, 4, 4, 4, 4))
FLAT_FORM = LedgerForm((10,))


_PACKAGE = "org.apache.bookkeeper.meta."
LONG_HIERARCHICAL = _PACKAGE + "LongHierarchicalLedgerManagerFactory"
LEGACY_HIERARCHICAL = _PACKAGE + "LegacyHierarchicalLedgerManagerFactory"
FLAT = _PACKAGE + "FlatLedgerManagerFactory"

MAX_SHORT_ID = (1 << 31) - 2
"""The largest id of the 31-bit id generator; in the default layout, larger ids have longer paths."""

_FACTORY_VERSION = 1
_SHORT_NAMES = {"flat": FLAT, "hierarchical": HIERARCHICAL}
"""The Java class for each short name that a layout node of format version 1 may contain."""


@attrs.frozen
class LedgerTree:
    """The tree of nodes that a layout defines for the ledgers of a cluster.

    :ivar factory: name of the Java class that makes this layout.
    :ivar forms: the rules that convert a ledger id to a path; the first rule is for the smallest ids.
    :ivar last_short_id: the largest id whose path is made by the first rule.
    :ivar id_parent: name of the node below which ledger ids are generated; empty for the root itself.
    :ivar has_long_ids: whether ids may have more than 31 bits.
    :ivar prunes: whether to remove parent nodes that have become empty when a ledger is removed.
    """

    factory: str
    forms: tuple[LedgerForm, ...]
    last_short_id: int = (1 << 63) - 1
    id_parent: str = "idgen"
    has_long_ids: bool = True
    prunes: bool = True

    def form_of(self, ledger_id: int) -> LedgerForm:
        """Return the rule that makes the path of the ledger ``ledger_id``."""
        return self.forms[0 if ledger_id <= self.last_short_id else -1]

    def path_of(self, ledger_id: int) -> str:
        """Return the path of the ledger ``ledger_id`` below the root.

        :raises IncorrectParameterError: the id has too many digits for this layout.
        """
        return self.form_of(ledger_id).path(ledger_id)

    def is_top(self, name: str) -> bool:
        """Test whether ``name``, a child of the root, can be the first part of the path of a ledger."""
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
    """Return the layout of a new cluster.

    :param factory: Java class of the layout that the URI asks for; None for the default layout.
    """
    return Layout(factory or HIERARCHICAL, _FACTORY_VERSION)


def tree_of(layout: Layout, factory: str | None, fail: Callable[[str], MetadataError]) -> LedgerTree:
    """Return the tree of ledger nodes that a stored layout defines.

    :param factory: Java class of the layout that the URI asks for; None accepts any layout.
    :param fail: a function that makes an error from a text.
    :raises MetadataError: ``layout`` is not the layout of the URI, or this program does not support it.
    """
    stored = _SHORT_NAMES.get(layout.factory, layout.factory) if layout.format_version == 1 else layout.factory
    if factory not in (None, stored):
        raise fail(f"the cluster has the layout {stored}, the URI asks for {factory}")
    tree = TREES.get(stored)
    if tree is None or layout.factory_version != _FACTORY_VERSION:
        raise fail(f"layout {layout.factory}:{layout.factory_version} is not known")
    return tree
