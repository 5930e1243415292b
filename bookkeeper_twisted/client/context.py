"""The context of a whole client: what its readers share and what its writers share."""

import attrs

from .reading.context import ReadingContext
from .writing.context import WritingContext


@attrs.frozen(eq=False, slots=False)
class ClientContext(ReadingContext, WritingContext):
    """The parts all handles of one client share."""
