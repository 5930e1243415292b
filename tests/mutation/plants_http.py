"""Plants in the HTTP servers: their answers, and what they keep from peers."""

from .plant import Plant

_API, _ASKED = "http/api.py", ["tests.http.test_api"]

PLANTS = (
    Plant(
        "half a surrogate pair reaches a handler",
        _API,
        "            json.dumps(value, ensure_ascii=False).encode()\n",
        "",
        _ASKED,
    ),
    Plant("a text that is no UTF-8 is not answered", _API, '.encode(errors="backslashreplace")', ".encode()", _ASKED),
    Plant(
        "a handler that was cancelled does not answer",
        _API,
        '            return Answer("Service Unavailable", 503)\n',
        "            failure.raiseException()\n",
        _ASKED,
    ),
    Plant("an answer is written to a peer that is gone", _API, "    if request.channel is None:\n", "    if False:\n", _ASKED),
)
