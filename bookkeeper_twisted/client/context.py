"""The context of a whole client: the objects that its readers share and those that its writers share."""

import attrs

from .reading.context import ReadingContext
from .writing.context import WritingContext


@attrs.frozen(eq=False, slots=False)
class ClientContext(ReadingContext, WritingContext):
    """The objects that all handles of one client share."""
