"""The bookies that are registered, as writable or as read-only."""

from .interfaces import IRegistration


async def registered_bookies(registration: IRegistration) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of writable bookies and of read-only ones, as the store has them now.

    A bookie that changes from one to the other meanwhile is in one of the sets at least.

    :raises bookkeeper_twisted.errors.MetadataError: the store cannot say.
    """
    before = await registration.writable_bookies()
    read_only = await registration.read_only_bookies()
    # a second time: a bookie may have changed from read-only to writable in between
    return before | await registration.writable_bookies(), read_only


async def bookies_there(registration: IRegistration) -> frozenset[str]:
    """Return the ids of bookies that are writable or read-only, as of now.

    :raises bookkeeper_twisted.errors.MetadataError: the store cannot say.
    """
    writable, read_only = await registered_bookies(registration)
    return writable | read_only
