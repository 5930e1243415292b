"""A span while it lasts, and what a provider of traces makes of it at its end."""

from collections.abc import Mapping
from enum import Enum

from .traceparent import SpanIds


class SpanKind(Enum):
    """The kind of a span: work inside a process, or a request as its client or its server sees it."""

    INTERNAL = "internal"
    CLIENT = "client"
    SERVER = "server"


class Span:
    """A part of a traced operation, while it lasts.

    :ivar ids: its own ids.
    :ivar parent: the ids of the span that it is a part of; None if it is the first of its trace.
    :ivar began: seconds since the epoch.
    :ivar attributes: facts about it by name; the owner adds them until the end.
    :ivar events: moments in it, each a name and the seconds since the epoch.
    :ivar links: ids of spans of which it is no part, but that have to do with it.
    """

    __slots__ = ("ids", "parent", "name", "kind", "began", "attributes", "events", "links")

    def __init__(self, ids: SpanIds, parent: SpanIds | None, name: str, kind: SpanKind, began: float) -> None:
        self.ids = ids
        self.parent = parent
        self.name = name
        self.kind = kind
        self.began = began
        self.attributes: dict[str, str | int | bool] = {}
        self.events: list[tuple[str, float]] = []
        self.links: list[SpanIds] = []

    @property
    def context(self) -> Mapping[str, str]:
        """The pairs that a request carries, so that spans of the bookie become children of this span."""
        return {"traceparent": self.ids.text}

    def __repr__(self) -> str:
        return f"<Span {self.name} {self.ids.text}>"
