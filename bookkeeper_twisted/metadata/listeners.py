"""Listeners: functions without arguments that are called at an event, in the order in which they were added."""

from collections.abc import Callable

from twisted.logger import Logger


class Listeners:
    """The listeners for one kind of event.

    :param event: name of the event, for the log.
    """

    _log = Logger()

    def __init__(self, event: str) -> None:
        self._event = event
        self._listeners: list[Callable[[], None]] = []

    def add(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Add ``listener``; the returned function removes the listener."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def call(self) -> None:
        """Call all listeners; if a listener raises an exception, log it and call the next listener."""
        for listener in list(self._listeners):
            try:
                listener()
            except Exception:
                self._log.failure("{event}: a listener failed", event=self._event)
