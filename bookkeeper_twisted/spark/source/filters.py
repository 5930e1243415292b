"""Filters of ledger and entry ids, from the conditions of a query that Spark passes to the source."""

from collections.abc import Collection

import attrs

from ...model import MAX_LEDGER_ID
from ..id_ranges import IdRanges

LEDGER, ENTRY = "ledger_id", "entry_id"


@attrs.define
class IdBounds:
    """The ids that a filter selects in one column: all ids between two bounds, or only the ids of a set.

    :ivar low, high: lowest and highest id, inclusive; None without a bound.
    :ivar members: a set of ids; only its ids between the bounds are selected.  None to select all ids between the
        bounds.
    """

    low: int | None = None
    high: int | None = None
    members: frozenset[int] | None = None

    def at_least(self, value: int) -> None:
        """Exclude ids below ``value``."""
        self.low = value if self.low is None else max(self.low, value)

    def at_most(self, value: int) -> None:
        """Exclude ids above ``value``."""
        self.high = value if self.high is None else min(self.high, value)

    def among(self, values: Collection[int]) -> None:
        """Exclude ids that are not in ``values``."""
        self.members = frozenset(values) if self.members is None else self.members & frozenset(values)

    def allows(self, value: int) -> bool:
        """Test whether the id ``value`` is selected."""
        within = (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        return within and (self.members is None or value in self.members)

    def ids(self) -> IdRanges:
        """Return the set of all selected ids."""
        if self.members is not None:
            return IdRanges.of(filter(self.allows, self.members))
        low, high = self.low or 0, MAX_LEDGER_ID if self.high is None else self.high
        return IdRanges(((low, high),) if low <= high else ())

    def clipped(self, first: int, last: int) -> tuple[int, int]:
        """Narrow the range ``first .. last`` (inclusive) by the bounds; every selected id of the range stays in it.

        :returns: first and last id of the new range, which may also contain ids that are not selected.  If the range is
            empty, its first id is higher than its last id.
        """
        if self.members is not None:
            inside = [value for value in self.members if self.allows(value)]
            if not inside:
                return 0, -1
            first, last = max(first, min(inside)), min(last, max(inside))
        low = first if self.low is None else max(first, self.low)
        return low, last if self.high is None else min(last, self.high)


@attrs.define
class IdFilter:
    """A filter of entries by ledger id and entry id."""

    ledgers: IdBounds = attrs.field(factory=IdBounds)
    entries: IdBounds = attrs.field(factory=IdBounds)

    def accept(self, kind: str, column: str, value: object) -> bool:
        """Add a condition of the query, if it compares ledger or entry ids with numbers.

        :param kind: class name of the condition, such as ``EqualTo``.
        :param column: name of the column; only :data:`LEDGER` and :data:`ENTRY` can be filtered.
        :param value: the value to compare with; a sequence for ``In``.
        :returns: True if the source returns only rows that meet the condition; False if Spark must filter the rows.
        """
        bounds = {LEDGER: self.ledgers, ENTRY: self.entries}.get(column)
        if bounds is None:
            return False
        if kind == "In" and isinstance(value, tuple | list) and all(type(one) is int for one in value):
            bounds.among(value)
            # a list of entry ids only narrows the range of entries that is read, so Spark must filter the rows
            return column == LEDGER
        if type(value) is not int:
            return False
        if kind in ("EqualTo", "EqualNullSafe"):
            bounds.at_least(value)
            bounds.at_most(value)
        elif kind in ("GreaterThan", "GreaterThanOrEqual"):
            bounds.at_least(value + (kind == "GreaterThan"))
        elif kind in ("LessThan", "LessThanOrEqual"):
            bounds.at_most(value - (kind == "LessThan"))
        else:
            return False
        return True
