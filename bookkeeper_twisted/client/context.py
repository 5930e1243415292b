"""The context of a client: the objects that its readers and its writers share."""

import attrs

from .reading.context import ReadingContext
from .writing.context import WritingContext


@attrs.frozen(eq=False, slots=False)
class ClientContext(ReadingContext, WritingContext):
    """The objects that all handles of one client share."""
