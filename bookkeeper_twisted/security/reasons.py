"""The reasons why TLS connections have ended, as texts for people."""


def tls_reason(error: BaseException | None) -> str:
    """Return the reason why a TLS connection has ended, as text.

    :param error: any error.  An error of OpenSSL contains a list of triples; the last item of each triple is a reason.
    """
    reasons = error.args[0] if error is not None and error.args else ()
    if isinstance(reasons, list) and reasons and all(isinstance(each, tuple) and len(each) == 3 for each in reasons):
        return "; ".join(str(reason) for _, _, reason in reasons)
    return str(error) or repr(error)
