"""The bookie's and the client's side of SASL, made from a configuration."""

import re
from collections.abc import Callable
from functools import partial

import attrs
from zope.interface import implementer

from ...config.authentication import SYSTEM, AuthenticationConfig
from ...protocol.authentication import IAuthenticationExchange, IBookieAuthentication, IClientAuthentication, Peer
from .credentials import jaas_credentials
from .digest_md5 import DigestBookieExchange, DigestClientExchange
from .jaas import JaasSection
from .plain import PlainBookieExchange, PlainClientExchange
from .users import Account, Users

NAME = "sasl"
"""The name of the plugin in AUTH frames."""

DIGEST_MD5, PLAIN = "DIGEST-MD5", "PLAIN"

_KEY_BYTES = 32


@attrs.frozen
class SaslWorld:
    """The source of time and random numbers for exchanges of SASL.

    :ivar seconds: returns the time in seconds of a clock that never goes back.
    :ivar random_bytes: returns a given number of random bytes, which nobody can guess.
    """

    seconds: Callable[[], float]
    random_bytes: Callable[[int], bytes]


@implementer(IBookieAuthentication)
class SaslBookie:
    """The bookie's side of SASL: it makes an exchange for each connection of a client.

    :raises ConfigError: the mechanism is unknown, the allowed ids are no regular expression, or the JAAS file cannot be
        used.
    """

    plugin = NAME

    def __init__(self, config: AuthenticationConfig, world: SaslWorld) -> None:
        self._mechanism = _mechanism(config)
        self._world = world
        make = partial(_users, allowed=_allowed(config), key=world.random_bytes(_KEY_BYTES))
        section = config.sasl_jaas_bookie_section_name
        self._users = jaas_credentials(config.sasl_jaas_config, section, make, world.seconds)

    def bookie_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """See :meth:`~bookkeeper_twisted.protocol.authentication.IBookieAuthentication.bookie_exchange`."""
        users = self._users.get()
        if self._mechanism == PLAIN:
            return PlainBookieExchange(users, peer)
        return DigestBookieExchange(users, self._world.seconds, self._world.random_bytes)


@implementer(IClientAuthentication)
class SaslClient:
    """The client's side of SASL: it makes an exchange for each connection to a bookie.

    :raises ConfigError: the mechanism is unknown, or the JAAS file cannot be used.
    """

    plugin = NAME

    def __init__(self, config: AuthenticationConfig, world: SaslWorld) -> None:
        self._mechanism = _mechanism(config)
        self._random_bytes = world.random_bytes
        is_system = config.client_role == SYSTEM
        section = config.sasl_jaas_auditor_section_name if is_system else config.sasl_jaas_client_section_name
        self._account = jaas_credentials(config.sasl_jaas_config, section, _account, world.seconds)

    def client_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """See :meth:`~bookkeeper_twisted.protocol.authentication.IClientAuthentication.client_exchange`."""
        account = self._account.get()
        if self._mechanism == PLAIN:
            return PlainClientExchange(account, peer)
        return DigestClientExchange(account, peer, self._random_bytes)


def _users(section: JaasSection, allowed: "re.Pattern[str]", key: bytes) -> Users:
    return Users(section.passwords(), key, allowed)


def _account(section: JaasSection) -> Account:
    return Account(*section.account())


def _mechanism(config: AuthenticationConfig) -> str:
    name = config.sasl_mechanism.upper()
    if name not in (DIGEST_MD5, PLAIN):
        absent = "GSSAPI (Kerberos) is not there" if name == "GSSAPI" else "no such mechanism"
        raise config.error("sasl_mechanism", f"{absent}; {DIGEST_MD5} and {PLAIN} are")
    return name


def _allowed(config: AuthenticationConfig) -> "re.Pattern[str]":
    try:
        return re.compile(config.sasl_jaas_client_allowed_ids)
    except re.error as error:
        reason = f"no regular expression: {error}"
    raise config.error("sasl_jaas_client_allowed_ids", reason)
