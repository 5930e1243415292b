"""The context of a client: the objects that its readers and its writers share, such as connections and clock."""

import attrs

from .reading.context import ReadingContext
from .writing.context import WritingContext


@attrs.frozen(eq=False, slots=False)
class ClientContext(ReadingContext, WritingContext):
    """The objects that all readers and writers of one client share."""
