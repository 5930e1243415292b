"""The reasons why TLS connections have ended, as texts for people."""

from ..errors import BookieHandleNotAvailableError


class BrokenTlsError(Exception):
    """TLS failed after its handshake, or the peer's bytes ended without the end of TLS while more bytes were due.

    Somebody between the two ends may have changed or cut off bytes.  The text says what happened.
    """


def tls_reason(error: BaseException | None) -> str:
    """Return the reason why a TLS connection has ended, as text.

    :param error: any error.  An error of OpenSSL contains a list of triples; the last item of each triple is a reason.
    """
    reasons = error.args[0] if error is not None and error.args else ()
    if isinstance(reasons, list) and reasons and all(isinstance(each, tuple) and len(each) == 3 for each in reasons):
        return "; ".join(str(reason) for _, _, reason in reasons)
    return str(error) or repr(error)


def lost_connection(bookie_id: str, cause: BaseException | None) -> BookieHandleNotAvailableError:
    """Return the error of the requests on a lost connection to a bookie.

    :param cause: why the connection was lost; it becomes the ``__cause__`` of the error.
    """
    error = BookieHandleNotAvailableError(f"the connection to {bookie_id} was lost: {tls_reason(cause)}")
    error.__cause__ = cause
    return error
