"""The rules of retries: which errors of a bookie are temporary, how often to ask again, and after which pauses."""

import attrs

from ..errors import TooManyRequestsError
from ..ledger.bookie_health import NO_REPLY


def is_transient(error: object) -> bool:
    """Test whether ``error`` is temporary: the bookie could not answer now, but may answer a later request."""
    return isinstance(error, (TooManyRequestsError, *NO_REPLY))


@attrs.frozen
class Retries:
    """The number of attempts of a request to a bookie, and the pauses between them.

    :ivar attempts: number of attempts, including the first attempt.
    :ivar first_pause: seconds before the second attempt; the pause doubles for each further attempt.
    :ivar longest_pause: maximum length of a pause, in seconds.
    """

    attempts: int = 5
    first_pause: float = 0.5
    longest_pause: float = 10.0

    def pause(self, attempt: int) -> float:
        """Return the seconds to wait after the attempt with the number ``attempt``, counted from 0."""
        return min(self.first_pause * float(1 << attempt), self.longest_pause)

    def is_last(self, attempt: int) -> bool:
        """Test whether the attempt with the number ``attempt``, counted from 0, is the last one."""
        return attempt + 1 >= self.attempts
