"""``cookie_create``, ``cookie_update``, ``cookie_delete``, ``cookie_get``, ``cookie_generate`` and ``updatecookie``.

The first four change or print the cookie of a bookie in the metadata store.  ``cookie_generate`` writes one to a file.
``updatecookie`` also reads or changes the cookies in the directories of the bookie on this machine.  To change them it
takes the locks of the directories, so it refuses while the bookie runs.
"""

import posixpath
from argparse import Namespace
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import TypeVar

import attrs

from ...bookie.lifecycle.identity import CookieCheck, expected_cookie
from ...bookie.lifecycle.settings import store_paths
from ...client.admin import BookKeeperAdmin
from ...codec.metadata_formats.cookie import Cookie
from ...errors import CodecError, CookieExistsError, CookieNotFoundError, InvalidCookieError
from ...metadata.interfaces import IRegistration, Versioned
from ...model import check_bookie_id
from ...storage.cookies import APACHE_COOKIE_NAME, COOKIE_NAME, DirectoryLocks, read_cookies, stamp
from ...storage.ledger_dirs import current
from ..shell_command import FAILED, FORCE, OK, REFUSED, Argument, Command, OperandError, ShellContext
from ..shell_rows import Formats, ShellRow
from ..shell_text import line

T = TypeVar("T")

_RULE = "---"


@attrs.frozen
class StoredCookie(ShellRow):
    """The cookie of a bookie in the metadata store.

    If the cookie cannot be parsed, ``instance_id`` and the fields after it are None.

    :ivar cookie: the bytes of the cookie.
    :ivar instance_id: id of the cluster.
    """

    bookie_id: str
    cookie: bytes
    instance_id: str | None = None
    journal_directories: str | None = None
    ledger_directories: tuple[str, ...] | None = None
    index_directories: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, bookie_id: str, data: bytes) -> "StoredCookie":
        """Make the output row for the stored cookie of a bookie.

        If the cookie cannot be parsed, the row contains only the bookie id and the bytes of the cookie.

        :param bookie_id: id of the bookie.
        :param data: the bytes of the cookie in the metadata store.
        """
        try:
            found = Cookie.parse(data)
        except CodecError:
            return cls(bookie_id, data)
        return cls(bookie_id, data, found.instance_id, found.journal_dirs, found.ledger_dirs, found.index_dirs)

    def text(self, formats: Formats) -> Iterable[str]:
        yield f"Cookie for bookie '{self.bookie_id}' is:"
        yield _RULE
        yield self.cookie.decode("utf-8", "replace")
        yield _RULE


@attrs.frozen
class CookiePlace(ShellRow):
    """The location of a cookie: a file, or the metadata store.

    :ivar path: path of the file; None for a cookie in the metadata store.
    :ivar bookie_id: id of the bookie whose cookie is in the metadata store; None for a file.
    :ivar local: whether the cookie belongs to the bookie on this machine.
    """

    path: str | None
    bookie_id: str | None
    local: bool

    def text(self, formats: Formats) -> Iterable[str]:
        if self.path is not None:
            yield line("Cookie", path=self.path)
        else:
            yield line(
                "Cookie in the metadata store", bookieId=self.bookie_id, **({"local": "true"} if self.local else {})
            )


def _registration(admin: BookKeeperAdmin) -> IRegistration:
    return admin.client.metadata.registration


def _bookie_id(options: Namespace) -> str:
    if not options.bookie_id:
        raise OperandError("No bookie id is specified")
    return check_bookie_id(options.bookie_id)


def _from_file(shell: ShellContext, options: Namespace, bookie_id: str) -> Cookie:
    """Read a bookie's cookie from the file that option ``-cf`` names.

    :raises OperandError: the option is missing, or the file does not contain the cookie of this bookie.
    """
    if not options.cookie_file:
        raise OperandError("No cookie file is specified: -cf FILE")
    try:
        cookie = Cookie.parse(shell.world.files.read(options.cookie_file))
    except CodecError as error:
        raise OperandError(f"{options.cookie_file} holds no cookie: {error}") from None
    if cookie.bookie_id != bookie_id:
        raise OperandError(f"{options.cookie_file} is the cookie of bookie '{cookie.bookie_id}', not '{bookie_id}'")
    return cookie


# ---- in the metadata store -----------------------------------------------------------------------------


async def cookie_create(shell: ShellContext, options: Namespace) -> int:
    """Store a cookie in the metadata store for a bookie that has none there."""
    bookie_id = _bookie_id(options)
    cookie = _from_file(shell, options, bookie_id)
    async with await shell.admin() as admin:
        try:
            await admin.create_cookie(cookie)
        except CookieExistsError:
            shell.out(f"Cookie already exists for bookie '{bookie_id}': cookie_update replaces it")
            return FAILED
    shell.out(f"Cookie of bookie '{bookie_id}' is created")
    return OK


def _of_stored(
    work: Callable[[ShellContext, Namespace, str], Awaitable[int]], hint: str = ""
) -> Callable[[ShellContext, Namespace], Awaitable[int]]:
    """Wrap a function as a command that prints a message if the function raises CookieNotFoundError.

    :param work: the function to wrap; its last argument is the id of the bookie, which the command takes from its
        options.
    :param hint: text to print after the message, such as the name of the command that stores a cookie.
    """

    async def verb(shell: ShellContext, options: Namespace) -> int:
        bookie_id = _bookie_id(options)
        try:
            return await work(shell, options, bookie_id)
        except CookieNotFoundError:
            shell.out(f"Cookie not found for bookie '{bookie_id}'{hint}")
            return FAILED

    return verb


async def _cookie_update(shell: ShellContext, options: Namespace, bookie_id: str) -> int:
    """Replace the cookie of a bookie in the metadata store."""
    cookie = _from_file(shell, options, bookie_id)
    async with await shell.admin() as admin:
        version = (await _registration(admin).read_cookie(bookie_id)).version
        await admin.update_cookie(cookie, version)
    shell.out(f"Cookie of bookie '{bookie_id}' is updated")
    return OK


async def _cookie_delete(shell: ShellContext, options: Namespace, bookie_id: str) -> int:
    """Ask the user, then delete the cookie of a bookie from the metadata store; refuse if the bookie is registered."""
    if not shell.confirmed(f"Are you sure to delete the cookie of bookie '{bookie_id}'?", options.force):
        return REFUSED
    async with await shell.admin() as admin:
        await admin.delete_cookie(bookie_id)
    shell.out(f"Cookie of bookie '{bookie_id}' is deleted")
    return OK


async def _cookie_get(shell: ShellContext, options: Namespace, bookie_id: str) -> int:
    """Print the cookie of a bookie exactly as the metadata store contains it."""
    async with await shell.admin() as admin:
        cookie = (await _registration(admin).read_cookie(bookie_id)).value
    shell.show(StoredCookie.parse(bookie_id, cookie))
    return OK


async def cookie_generate(shell: ShellContext, options: Namespace) -> int:
    """Make a cookie from a list of directories, and write it to a file."""
    bookie_id = _bookie_id(options)
    for name in ("journal_dirs", "ledger_dirs", "output_file"):
        if not getattr(options, name):
            raise OperandError(f"No --{name.replace('_', '-')} is specified")
    instance_id = options.instance_id
    if not instance_id:
        async with await shell.admin() as admin:
            instance_id = await admin.instance_id()
    indexes = _directories(options.index_dirs) if options.index_dirs else None
    journals = ",".join(_directories(options.journal_dirs))
    cookie = Cookie(bookie_id, journals, _directories(options.ledger_dirs), indexes, instance_id)
    shell.world.files.write(options.output_file, cookie.encode())
    shell.out(f"Successfully saved the generated cookie to {options.output_file}")
    return OK


def _directories(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


# ---- on the machine of a bookie ------------------------------------------------------------------------


async def updatecookie(shell: ShellContext, options: Namespace) -> int:
    """List, extend, rename or delete the cookies of the bookie on this machine, as the options say.

    To extend a cookie is to add directories to it; to rename it is to change the bookie id that it contains.
    """
    if bool(options.bookieId) + options.expandstorage + options.list + bool(options.delete) != 1:
        shell.out("One and only one of -bookieId, -expandstorage, -list and -delete must be specified")
        return REFUSED
    if not options.list:
        shell.refuse_json("goes with -list")
    async with await shell.admin() as admin:
        if options.list:
            return await _list(shell, admin)
        if options.expandstorage:
            return await _expand(shell, admin)
        if options.delete:
            return await _delete(shell, admin, options.delete)
        return await _rename(shell, admin, options.bookieId)


async def _list(shell: ShellContext, admin: BookKeeperAdmin) -> int:
    """Print the cookie files in the directories, and the ids of bookies with a cookie in the metadata store."""
    disk = shell.world.store.disk
    for directory in store_paths(shell.config).all():
        for name in (COOKIE_NAME, APACHE_COOKIE_NAME):
            path = posixpath.join(current(directory), name)
            if disk.exists(path):
                shell.show(CookiePlace(path, None, local=True))
    for bookie_id in sorted(await admin.all_bookies()):
        shell.show(CookiePlace(None, bookie_id, local=bookie_id == shell.local_bookie()))
    return OK


async def _expand(shell: ShellContext, admin: BookKeeperAdmin) -> int:
    """Add new, empty directories of the configuration to the bookie.

    To add them, write a cookie that lists them to all directories of the bookie and to the metadata store.
    """
    disk, paths = shell.world.store.writable_disk, store_paths(shell.config)
    expected = expected_cookie(shell.config, shell.local_bookie(), await admin.instance_id())
    check = CookieCheck(disk, paths, expected, allow_expansion=True)
    # Check first: if a configured directory is mistyped, this raises an error before any file is written.
    await check.must_stamp(_registration(admin), _at_once)
    existing = [directory for directory in paths.all() if disk.is_directory(current(directory))]
    with ExitStack() as held:
        held.callback(DirectoryLocks(disk, existing).release)
        paths.make(disk)
        held.callback(DirectoryLocks(disk, [path for path in paths.all() if path not in existing]).release)
        if await check.must_stamp(_registration(admin), _at_once):
            await check.stamp(_registration(admin), _at_once)
    shell.out(line("Cookie covers all directories", bookieId=expected.bookie_id))
    return OK


async def _at_once(work: Callable[..., T], *arguments: object) -> T:
    """Call a blocking function in the reactor thread; this delays nothing, because the shell runs only one command."""
    return work(*arguments)


async def _delete(shell: ShellContext, admin: BookKeeperAdmin, confirmation: str) -> int:
    """Delete the cookie of the bookie on this machine from the metadata store, then from the directories."""
    if confirmation != "force":
        shell.out("-delete removes the identity of this bookie, and wants the word force")
        return REFUSED
    bookie_id, disk, directories = shell.local_bookie(), shell.world.store.writable_disk, _existing(shell)
    locks = DirectoryLocks(disk, directories)
    try:
        await _forget(admin, bookie_id)
        for directory in directories:
            path = posixpath.join(current(directory), COOKIE_NAME)
            if disk.exists(path):
                disk.unlink(path)
                disk.sync_directory(current(directory))
    finally:
        locks.release()
    shell.out(line("Cookie deleted", bookieId=bookie_id))
    return OK


async def _forget(admin: BookKeeperAdmin, bookie_id: str) -> None:
    try:
        await admin.delete_cookie(bookie_id)
    except CookieNotFoundError:
        pass  # an earlier command was interrupted after it had deleted the stored cookie


async def _rename(shell: ShellContext, admin: BookKeeperAdmin, kind: str) -> int:
    """Change the bookie id in the cookies from an address to a host name, or from a host name to an address.

    The configuration decides whether the new bookie id contains the address or the host name.  The new cookie is
    written to the metadata store, then to the directories; last, the old cookie is deleted from the metadata store.
    With this order, a user can repeat the command if it was interrupted.
    """
    config = shell.config
    if kind not in ("hostname", "ip") or (kind == "hostname") != config.use_host_name_as_bookie_id:
        shell.out(f"useHostNameAsBookieID is {str(config.use_host_name_as_bookie_id).lower()}: -bookieId hostname|ip")
        return REFUSED
    new, disk, directories = shell.local_bookie(), shell.world.store.writable_disk, _existing(shell)
    locks = DirectoryLocks(disk, directories)
    try:
        before = _one_cookie(list(read_cookies(disk, directories).found.values()), new)
        if new in await admin.registered_bookies():
            raise OperandError(f"bookie {new} is running")
        cookie = attrs.evolve(before, bookie_id=new)
        stored = await _stored(admin, new)
        if stored is None:
            await admin.create_cookie(cookie)
        elif stored.value != cookie:
            raise OperandError(f"bookie {new} has a cookie of its own in the metadata store")
        stamp(disk, directories, cookie.encode())
        if before.bookie_id != new:
            await _forget(admin, before.bookie_id)
    finally:
        locks.release()
    shell.out(line("Cookie updated", bookieId=new, before=before.bookie_id))
    return OK


def _one_cookie(found: Sequence[bytes], new: str) -> Cookie:
    """Return the cookie of the bookie before its id is changed to ``new``.

    All directories usually contain the same cookie.  If an earlier renaming was interrupted, some contain the old
    cookie and some the new one; then return the old one.

    :param found: the contents of all cookie files.
    :param new: the new id of the bookie.
    :raises OperandError: there is no cookie, or there are cookies of several bookies besides ``new``.
    """
    cookies = {cookie.bookie_id: cookie for cookie in map(Cookie.parse, found)}
    if len(cookies) > 1:
        cookies.pop(new, None)
    if len(cookies) != 1:
        names = ", ".join(sorted(cookies)) or "none"
        raise OperandError(f"the directories must have the cookie of one bookie, and have: {names}")
    return next(iter(cookies.values()))


async def _stored(admin: BookKeeperAdmin, bookie_id: str) -> Versioned[Cookie] | None:
    try:
        return await admin.cookie(bookie_id)
    except CookieNotFoundError:
        return None


def _existing(shell: ShellContext) -> list[str]:
    """Return the configured directories; check that each contains a cookie.

    :raises InvalidCookieError: a directory has no cookie.  Either this is the configuration of another bookie, or a
        disk is not mounted.
    """
    directories = store_paths(shell.config).all()
    for directory in directories:
        if not shell.world.store.disk.exists(current(directory)):
            raise InvalidCookieError(f"{directory} holds no bookie")
    return list(directories)


_ID = Argument(("bookie_id",), "id of the bookie")
_FILE = Argument(("-cf", "cookie-file"), "file that holds the cookie", "file")

COMMANDS = (
    Command("cookie_create", "Store the cookie of a bookie", cookie_create, (_FILE, _ID)),
    Command(
        "cookie_update", "Replace the cookie of a bookie",
        _of_stored(_cookie_update, ": cookie_create stores one"), (_FILE, _ID),
    ),
    Command(
        "cookie_delete", "Remove the cookie of a bookie that does not run", _of_stored(_cookie_delete), (FORCE, _ID)
    ),
    Command("cookie_get", "Print the cookie of a bookie", _of_stored(_cookie_get), (_ID,), StoredCookie),
    Command(
        "cookie_generate", "Write the cookie of a bookie to a file", cookie_generate,
        (
            Argument(("-i", "instance-id"), "of the cluster; else of the cluster this shell is connected to"),
            Argument(("-j", "journal-dirs"), "journal directories, separated by commas"),
            Argument(("-l", "ledger-dirs"), "ledger directories, separated by commas"),
            Argument(("-ix", "index-dirs"), "index directories, separated by commas; else the ledger directories"),
            Argument(("-o", "output-file"), "file to write", "file"),
            _ID,
        ),
    ),
    Command(
        "updatecookie", "Change the cookies of the bookie beside this shell, which must not run", updatecookie,
        (
            Argument(("-b", "bookieId"), "hostname or ip: move the cookie to the id that the configuration gives now"),
            Argument(("-e", "expandstorage"), "let new empty directories of the configuration join", bool),
            Argument(("-l", "list"), "print where cookies lie", bool),
            Argument(("-d", "delete"), "force: remove the cookie from the directories and the metadata store"),
        ),
        CookiePlace,
    ),
)  # fmt: skip
