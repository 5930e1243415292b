"""A kernel for asynchronous I/O that answers what a test wants."""

import os

from bookkeeper_twisted.storage.files.kernel_context import KernelContext


class ScriptedKernel(KernelContext):
    """A kernel that makes no write, and says what the test wants.

    :cvar refusal: error number with which it begins no write; 0: it begins.
    :cvar result: of the write.
    :cvar flags: of the write that was begun last.
    """

    refusal = 0
    result = 0
    flags = 0

    def begin_write(self, descriptor: int, address: int, size: int, offset: int, flags: int, event: int) -> None:
        """Counts the end at once."""
        if self.refusal:
            raise OSError(self.refusal, "asynchronous I/O")
        type(self).flags = flags
        os.eventfd_write(event, 1)

    def ended_write(self) -> int:
        """As the test says."""
        return self.result
