"""Saves the read-only state of a bookie in its ``BOOKIE_STATUS`` files, and restores it at the next start."""

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ...storage.bookie_status import BookieStatus, load_status, save_status
from ...storage.interfaces import IFileSystem
from ..admin import ADMINISTRATOR, IBookieAdmin
from .registration import BookieRegistration


class RememberedStatus:
    """Restores an administrator's read-only request at the start of a bookie, and saves each later change of the state.

    :param directories: the ``current`` directories with the files.
    :param submit: calls a function with arguments on the thread that writes files.
    :param seconds: returns the time in seconds since the epoch.
    """

    _log = Logger()

    def __init__(
        self, fs: IFileSystem, directories: Sequence[str], submit: Callable[..., "Deferred[Any]"],
        seconds: Callable[[], float],
    ) -> None:  # fmt: skip
        self._fs = fs
        self._directories = directories
        self._submit = submit
        self._seconds = seconds

    async def restore(self, admin: IBookieAdmin, registration: BookieRegistration) -> None:
        """Restore the state from the files; from now on, save it when the reasons to be read-only change.

        :param admin: gets the read-only request again if an administrator made it before the restart.
        :param registration: has the reasons why the bookie is read-only, and a callback for their changes.
        """
        status = await self._submit(load_status, self._fs, self._directories)
        if status.read_only and status.manual:
            began = min(status.began(ADMINISTRATOR) / 1000, self._seconds())
            registration.set_read_only(ADMINISTRATOR, True, began)
            admin.set_read_only(True)
        registration.on_change = lambda: self._save(registration)

    def _save(self, registration: BookieRegistration) -> None:
        reasons, since = registration.reasons, tuple(int(at * 1000) for at in registration.since)
        millis = int(self._seconds() * 1000)
        status = BookieStatus(bool(reasons), millis, ADMINISTRATOR in reasons, reasons, since)
        saving = self._submit(save_status, self._fs, self._directories, status)
        saving.addErrback(lambda failure: self._log.failure("the status could not be saved", failure))
