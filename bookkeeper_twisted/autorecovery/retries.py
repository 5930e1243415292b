"""The rules of retries: which errors of a bookie are temporary, how often to ask again, and after which pauses."""

import attrs

from ..errors import BookieHandleNotAvailableError, RequestTimeoutError, TooManyRequestsError


def is_transient(error: object) -> bool:
    """Test whether ``error`` is temporary: it does not say what the bookie keeps, and a later request may succeed."""
    return isinstance(error, TooManyRequestsError | RequestTimeoutError | BookieHandleNotAvailableError)


@attrs.frozen
class Retries:
    """The number of attempts to ask a bookie, and the pauses between them.

    :ivar attempts: number of attempts, including the first attempt.
    :ivar first_pause: seconds before the second attempt, doubled for each further one.
    :ivar longest_pause: seconds, at most.
    """

    attempts: int = 5
    first_pause: float = 0.5
    longest_pause: float = 10.0

    def pause(self, attempt: int) -> float:
        """Return the seconds to wait after an ``attempt``, counted from 0."""
        return min(self.first_pause * float(1 << attempt), self.longest_pause)

    def is_last(self, attempt: int) -> bool:
        """Test whether an ``attempt``, counted from 0, is the last one."""
        return attempt + 1 >= self.attempts
