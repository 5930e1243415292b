"""Opens a stored ledger as a reader."""

from collections.abc import Callable

from ..codec.digest import Digester
from ..errors import IncorrectParameterError, NoSuchLedgerMetadataError, UnauthorizedAccessError
from ..ledger.recovery_rules import RecoveryRules
from ..model import LedgerMetadata, check_whole_number
from .context import ClientContext
from .reading.read_handle import LedgerReader
from .recovery.ledger_recovery import LedgerRecovery


async def open_reader(
    context: ClientContext, ledger_id: int, password: bytes | None, recover: bool,
    rules: Callable[[LedgerMetadata], RecoveryRules] = RecoveryRules,
) -> LedgerReader:  # fmt: skip
    """See :meth:`~.bookkeeper.BookKeeper.open_ledger`."""
    check_whole_number(ledger_id, "a ledger id")
    if ledger_id < 0:
        raise NoSuchLedgerMetadataError(f"ledger ids begin at 0, not {ledger_id}")
    stored = await context.ledgers.read(ledger_id)
    digester = _digester(ledger_id, stored.value, password)
    if recover and not stored.value.closed:
        stored = await LedgerRecovery(context, ledger_id, digester, rules).run(stored)
    reader = LedgerReader(context, ledger_id, stored, digester)
    if not reader.is_closed:
        try:
            await reader.read_last_add_confirmed()
        except Exception:
            await reader.close()
            raise
        reader._follow()
    return reader


def check_password(password: bytes) -> None:
    """Check that a password is bytes.

    :raises bookkeeper_twisted.errors.IncorrectParameterError: it is text, or something else that is no bytes.
    """
    if not isinstance(password, bytes):
        raise IncorrectParameterError(f"a password is bytes, not {type(password).__name__}")


def _digester(ledger_id: int, metadata: LedgerMetadata, password: bytes | None) -> Digester:
    if password is not None:
        check_password(password)
    if password is None:
        password = metadata.password
    elif metadata.has_password and metadata.password != password:
        raise UnauthorizedAccessError(ledger_id, detail="wrong password")
    return Digester(metadata.digest_type, password)
