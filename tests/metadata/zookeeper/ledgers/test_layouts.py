"""Layouts and the trees they ask for."""

from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.codec.metadata_formats import Layout
from bookkeeper_twisted.errors import MetadataError
from bookkeeper_twisted.metadata.zookeeper.ledgers.layouts import (
    FLAT,
    HIERARCHICAL,
    LEGACY_HIERARCHICAL,
    LONG_HIERARCHICAL,
    TREES,
    new_layout,
    tree_of,
)


class TreeTests(SynchronousTestCase):
    """:class:`LedgerTree`."""

    def test_border(self) -> None:
        """In the default layout the largest 31-bit number but one is the last with a short path."""
        tree = TREES[HIERARCHICAL]
        self.assertEqual(tree.path_of(2147483646), "21/4748/L3646")
        self.assertEqual(tree.path_of(2147483647), "000/0000/0021/4748/L3647")
        self.assertEqual(TREES[LONG_HIERARCHICAL].path_of(0), "000/0000/0000/0000/L0000")
        self.assertEqual(TREES[LEGACY_HIERARCHICAL].path_of(2147483647), "21/4748/L3647")

    def test_tops(self) -> None:
        """Each layout knows its own nodes below the root."""
        for factory, names in (
            (HIERARCHICAL, {"00", "000"}), (LONG_HIERARCHICAL, {"000"}), (LEGACY_HIERARCHICAL, {"00"}),
            (FLAT, {"L0000000000"}),
        ):  # fmt: skip
            found = {n for n in ("00", "000", "0000", "L0000000000", "idgen", "LAYOUT") if TREES[factory].is_top(n)}
            self.assertEqual(found, names)


class TreeOfTests(SynchronousTestCase):
    """:func:`tree_of`: what is stored against what is asked for."""

    def _tree(self, layout: Layout, factory: str | None) -> str:
        return tree_of(layout, factory, MetadataError).factory

    def test_nothing_asked(self) -> None:
        """Without a wish, what is stored counts, old names included."""
        for factory in TREES:
            self.assertEqual(self._tree(Layout(factory), None), factory)
        self.assertEqual(self._tree(Layout("flat", 1, 1), None), FLAT)
        self.assertEqual(self._tree(Layout("hierarchical", 1, 1), HIERARCHICAL), HIERARCHICAL)

    def test_same(self) -> None:
        """A wish for what is stored is granted."""
        self.assertEqual(self._tree(new_layout(LONG_HIERARCHICAL), LONG_HIERARCHICAL), LONG_HIERARCHICAL)
        self.assertEqual(self._tree(new_layout(None), HIERARCHICAL), HIERARCHICAL)

    def test_another(self) -> None:
        """A wish for anything else is refused: ledgers would be looked for in the wrong places."""
        for stored, asked in ((LONG_HIERARCHICAL, HIERARCHICAL), (HIERARCHICAL, FLAT)):
            self.assertRaises(MetadataError, self._tree, Layout(stored), asked)

    def test_unknown(self) -> None:
        """Unknown classes and versions are refused, short names in format 2 among them."""
        for layout in (Layout("a.B"), Layout(HIERARCHICAL, 2), Layout("flat"), Layout(FLAT, 0)):
            self.assertRaises(MetadataError, self._tree, layout, None)
