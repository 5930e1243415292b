"""Kerberos security contexts of the system's library (MIT or Heimdal), used through the package ``gssapi``.

The library reads realms and their KDCs from ``krb5.conf``.  Settings in this file (``dns_canonicalize_hostname``,
``rdns``) also decide whether the library resolves the host of a bookie to a full name.

The library opens the keytab file again for each context.  Therefore it gets the path of a copy in memory: the copy
stays valid if the original file is damaged later.  A client with a keytab stores its tickets in memory, and gets new
tickets before they expire.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from ...errors import ConfigError, UnauthorizedAccessError
from ...security.files import CopyInMemory, read_small_file
from .jaas import KerberosLogin
from .kerberos import Kerberos, SecurityContext

_FILE = "keyTab"
_MAX_FILE = 1 << 20
_caches = count(1)


def installed_kerberos() -> Kerberos:
    """Return the Kerberos library of this system (package ``gssapi``).

    :raises ConfigError: the package ``gssapi`` or the library that it uses is not installed.
    """
    try:
        import gssapi
    except (ImportError, OSError):
        reason = "GSSAPI (Kerberos) needs gssapi, which is not installed: pip install 'bookkeeper-twisted[kerberos]'"
    else:
        return _Gssapi(gssapi)
    raise ConfigError(reason)


class _Gssapi:
    """The Kerberos library of the system, used through the package ``gssapi``.

    :param library: the imported package ``gssapi``.
    """

    def __init__(self, library: Any) -> None:
        self._library = library

    def acceptor(self, login: KerberosLogin) -> Callable[[], SecurityContext]:
        """Return a function that makes the bookie's side of a new Kerberos security context at each call.

        See :meth:`.Kerberos.acceptor` for parameters and errors.
        """
        keys, credentials = self._keys(login)
        return lambda: _Context(self._library, keys, usage="accept", creds=credentials)

    def initiator(self, login: KerberosLogin, service: str) -> Callable[[str], SecurityContext]:
        """Return a function that makes the client's side of a security context; its argument is the host of the bookie.

        See :meth:`.Kerberos.initiator` for parameters and errors.
        """
        store, keys = {}, None
        if login.key_tab:
            keys, _ = self._keys(login)
            store = {"client_keytab": f"FILE:{keys.path}", "ccache": f"MEMORY:bookkeeper-{next(_caches)}"}
        elif login.ticket_cache:
            store = {"ccache": login.ticket_cache}
        library = self._library
        flags = library.RequirementFlag.mutual_authentication | library.RequirementFlag.integrity

        def context(host: str) -> SecurityContext:
            with _refusals(library):
                bookie = library.Name(f"{service}@{host}", library.NameType.hostbased_service)
            # Make new credentials for each context: the library renews tickets that are about to expire only when it
            # makes credentials.
            credentials = self._credentials(login, "initiate", store)
            arguments = {"name": bookie, "creds": credentials, "flags": flags, "mech": library.MechType.kerberos}
            return _Context(library, keys, usage="initiate", **arguments)

        return context

    def _keys(self, login: KerberosLogin) -> tuple[CopyInMemory, Any]:
        """Read the keytab file of a ``login``.

        :returns: a copy of the file, and the library's credentials for accepting tickets of clients.
        :raises ConfigError: the file cannot be used, or has no key of the principal.
        """
        keys = CopyInMemory(login.key_tab, read_small_file(_FILE, login.key_tab, _MAX_FILE, secret=True))
        try:
            return keys, self._credentials(login, "accept", {"keytab": f"FILE:{keys.path}"})
        except UnauthorizedAccessError as error:
            detail = error.detail.replace(keys.path, login.key_tab)
            reason = f"{_FILE} = {login.key_tab!r}: it has no key of {login.principal!r}: {detail}"
        raise ConfigError(reason)

    def _credentials(self, login: KerberosLogin, usage: str, store: dict[str, str]) -> Any:
        library = self._library
        with _refusals(library):
            name = library.Name(login.principal, library.NameType.kerberos_principal) if login.principal else None
            mechanisms = [library.MechType.kerberos]
            return library.Credentials(name=name, usage=usage, store=store or None, mechs=mechanisms)


class _Context:
    """A Kerberos security context of the ``gssapi`` library, with the methods of :class:`.SecurityContext`.

    :param keys: the copy of the keytab file, which must exist until the context is complete.
    :param arguments: arguments for ``gssapi.SecurityContext``.
    """

    def __init__(self, library: Any, keys: CopyInMemory | None, **arguments: Any) -> None:
        self.is_complete = False
        self._library = library
        self._keys = keys
        with _refusals(library):
            self._context = library.SecurityContext(**arguments)

    @property
    def peer(self) -> str:
        with _refusals(self._library):
            if self._context.actual_flags & self._library.RequirementFlag.anonymity:
                raise UnauthorizedAccessError(detail="the client is anonymous")
            return str(self._context.initiator_name)

    def step(self, received: bytes | None) -> bytes:
        with _refusals(self._library):
            token = bytes(self._context.step(received) or b"")
            # A failed step may still have an error token for the peer.  In this case step() returns the token without
            # an error, and reading ``complete`` raises the error.
            self.is_complete = bool(self._context.complete)
            return token

    def wrap(self, data: bytes) -> bytes:
        with _refusals(self._library):
            return bytes(self._context.wrap(data, False).message)

    def unwrap(self, data: bytes) -> bytes:
        with _refusals(self._library):
            return bytes(self._context.unwrap(data).message)


@contextmanager
def _refusals(library: Any) -> Iterator[None]:
    """Convert errors of the Kerberos library in the ``with`` block to UnauthorizedAccessError."""
    try:
        yield
    except library.exceptions.GSSError as error:
        minor = error.get_all_statuses(error.min_code, False) if error.min_code else ()
        reason = "; ".join(minor or error.get_all_statuses(error.maj_code, True))
    else:
        return
    raise UnauthorizedAccessError(detail=f"Kerberos: {reason}")
