"""Plants that the fuzzing of a bookie with TLS and SASL has to notice."""

from .plant import Plant

_FUZZED = ["tests.integration.test_fuzz.SecuredFuzzTests"]

PLANTS = (
    Plant(
        "peers of a live bookie are served before they have proven anything", "bookie/requests/authentication.py",
        "self._making is None and self._exchange.complete", "True", _FUZZED, where="AuthenticatingSession.received",
    ),
    Plant(
        "a live bookie answers requests in clear within TLS", "bookie/requests/encryption.py",
        "isinstance(item, AuthRequest) and not item.payload", "True", _FUZZED, where="_is_empty_token",
    ),
    Plant(
        "a frame that cannot be decoded behind StartTLS is an error of a live bookie", "protocol/server/greeting.py",
        "len(items) == 1", "True", _FUZZED, where="Greeting._is_accepted",
    ),
)  # fmt: skip
