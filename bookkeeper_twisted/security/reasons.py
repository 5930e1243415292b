"""Readable texts for the reasons why TLS connections have ended."""

from ..errors import BookieHandleNotAvailableError


class BrokenTlsError(Exception):
    """TLS failed after its handshake, or the connection was closed without TLS's close_notify while more bytes were
    expected.

    Somebody between the two sides may have changed or removed bytes.
    """


def tls_reason(error: BaseException | None) -> str:
    """Return the reason why a TLS connection has ended, as text.

    :param error: any error; for an error of OpenSSL, which contains several reasons, the text contains all of them.
    """
    reasons = error.args[0] if error is not None and error.args else ()
    if isinstance(reasons, list) and reasons and all(isinstance(each, tuple) and len(each) == 3 for each in reasons):
        return "; ".join(str(reason) for _, _, reason in reasons)
    return str(error) or repr(error)


def lost_connection(bookie_id: str, cause: BaseException | None) -> BookieHandleNotAvailableError:
    """Return the error with which all requests on a lost connection to a bookie fail.

    :param cause: why the connection was lost; it becomes the ``__cause__`` of the error.
    """
    error = BookieHandleNotAvailableError(f"the connection to {bookie_id} was lost: {tls_reason(cause)}")
    error.__cause__ = cause
    return error
