"""Adds names and values that the program chose, such as a tenant, to the log lines about a ledger.

The program passes the names and values as ``logger_context`` when it creates, opens or deletes the ledger.  The lines
that get them are about errors of writes and, at debug level, about creation, recovery and deletion.
"""

from collections.abc import Mapping

from twisted.logger import ILogObserver, LogEvent, Logger
from zope.interface import implementer

from ..arguments import refusal


class LoggerContext(dict[str, str]):
    """The names and values of one ``logger_context``; as text they are ``name=value``, separated by spaces."""

    def __str__(self) -> str:
        return " ".join([f"{_word(name)}={_word(value)}" for name, value in self.items()])


def _word(text: str) -> str:
    """Return ``text`` itself if it is one word without control characters, otherwise as quoted and escaped text."""
    return text if text.isprintable() and text and not set(text) & set(" =\"'[]") else repr(text)


def checked_context(fields: Mapping[str, str] | None) -> LoggerContext | None:
    """Check the argument ``logger_context`` of a public call, and return a copy; None if it is None or empty.

    :param fields: the argument.
    :raises bookkeeper_twisted.errors.IncorrectParameterError: the argument is not a mapping of text to text.
    """
    if fields is None:
        return None
    if not isinstance(fields, Mapping):
        raise refusal("logger_context", fields, "a mapping of text to text (or None)")
    for each in (*fields.keys(), *fields.values()):
        if not isinstance(each, str):
            raise refusal("a name or value of logger_context", each, "text")
    return LoggerContext(fields) or None


def logger_in(logger: Logger, context: LoggerContext | None) -> Logger:
    """Return a logger that adds ``context`` to its events: as the field ``logger_context``, and to the text.

    The names in ``context`` do not become fields of the event, because they could equal the names of other fields.

    :param logger: the logger to which the new one passes its events; it is returned itself if ``context`` is None.
    """
    if context is None:
        return logger
    return Logger(logger.namespace, logger.source, _InContext(logger.observer, context))


@implementer(ILogObserver)
class _InContext:
    """An observer that adds a ``logger_context`` to log events, and passes the events to another observer."""

    def __init__(self, observer: ILogObserver, context: LoggerContext) -> None:
        self._observer = observer
        self._context = context

    def __call__(self, event: LogEvent) -> None:
        event["logger_context"] = self._context
        event["log_format"] = f"{event['log_format']} [{{logger_context}}]"
        self._observer(event)


class LedgerLogger(Logger):
    """A logger to assign to the attribute ``_log`` of a class.

    If an instance of the class logs an event, the logger adds the instance's ``_logger_context`` to the event.
    """

    def __get__(self, instance: object, owner: type | None = None) -> Logger:
        return logger_in(super().__get__(instance, owner), getattr(instance, "_logger_context", None))
