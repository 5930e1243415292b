"""Adds the fields of a caller, such as its tenant or its request, to the log lines about a ledger.

The program passes the names and values as ``logger_context`` when it creates, opens or deletes the ledger.  They appear
in log lines about errors of writes and, at debug level, about creation, recovery and deletion.
"""

from collections.abc import Mapping

from twisted.logger import ILogObserver, LogEvent, Logger
from zope.interface import implementer

from ..arguments import refusal


class LoggerContext(dict[str, str]):
    """The fields of one caller; as text they are ``name=value``, separated by spaces."""

    def __str__(self) -> str:
        return " ".join([f"{_word(name)}={_word(value)}" for name, value in self.items()])


def _word(text: str) -> str:
    """Return a text in quotation marks, with escapes, unless it is one word without control characters."""
    return text if text.isprintable() and text and not set(text) & set(" =\"'[]") else repr(text)


def checked_context(fields: Mapping[str, str] | None) -> LoggerContext | None:
    """Return a copy of the ``logger_context`` that a caller gives; None if there are no fields.

    :param fields: the argument.
    :raises bookkeeper_twisted.errors.IncorrectParameterError: it is not a mapping of text to text.
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
    """Return a logger whose lines have the fields of a caller: in the event ``logger_context``, and in their text.

    They are one field of the event, because their names are the caller's and could be those of other fields.

    :param logger: the logger, which is returned itself if there are no fields.
    """
    if context is None:
        return logger
    return Logger(logger.namespace, logger.source, _InContext(logger.observer, context))


@implementer(ILogObserver)
class _InContext:
    """An observer that adds the fields of a caller to log events, and passes them on."""

    def __init__(self, observer: ILogObserver, context: LoggerContext) -> None:
        self._observer = observer
        self._context = context

    def __call__(self, event: LogEvent) -> None:
        event["logger_context"] = self._context
        event["log_format"] = f"{event['log_format']} [{{logger_context}}]"
        self._observer(event)


class LedgerLogger(Logger):
    """The logger of a class whose objects have the fields of a caller as their attribute ``_logger_context``."""

    def __get__(self, instance: object, owner: type | None = None) -> Logger:
        return logger_in(super().__get__(instance, owner), getattr(instance, "_logger_context", None))
