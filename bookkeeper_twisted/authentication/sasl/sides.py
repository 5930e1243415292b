"""The bookie's side and the client's side of SASL authentication, made from a configuration."""

import re
from collections.abc import Callable
from functools import partial

import attrs
from zope.interface import implementer

from ...config.authentication import SYSTEM, AuthenticationConfig
from ...protocol.authentication import IAuthenticationExchange, IBookieAuthentication, IClientAuthentication, Peer
from .credentials import jaas_credentials
from .digest_md5 import DigestBookieExchange, DigestClientExchange
from .gssapi_contexts import installed_kerberos
from .jaas import JaasSection
from .kerberos import Kerberos, KerberosBookieExchange, KerberosClientExchange, WorkTurns, from_key_tab
from .plain import PlainBookieExchange, PlainClientExchange
from .users import Account, Users, admit

NAME = "sasl"
"""The name of the plugin in AUTH frames."""

DIGEST_MD5, GSSAPI, PLAIN = "DIGEST-MD5", "GSSAPI", "PLAIN"

_KEY_BYTES = 32

_NewExchange = Callable[[Peer], IAuthenticationExchange]


@attrs.frozen
class SaslWorld:
    """The clock, the random numbers and the Kerberos library that SASL exchanges use.

    :ivar seconds: returns the time in seconds of a monotonic clock.
    :ivar random_bytes: returns a given number of cryptographically secure random bytes.
    :ivar kerberos: returns the Kerberos library; raises ConfigError if none is installed.
    """

    seconds: Callable[[], float]
    random_bytes: Callable[[int], bytes]
    kerberos: Callable[[], Kerberos] = installed_kerberos


@implementer(IBookieAuthentication)
class SaslBookie:
    """The bookie's side of SASL: it makes an exchange for each connection of a client.

    :raises ConfigError: the mechanism is unknown, or needs TLS which is not configured; ``saslJaasClientAllowedIds`` is
        not a regular expression; or the JAAS file cannot be used.
    """

    plugin = NAME

    def __init__(self, config: AuthenticationConfig, world: SaslWorld) -> None:
        self._world = world
        self._mechanism = _mechanism(config)
        self._allowed = _allowed(config)
        self._key = world.random_bytes(_KEY_BYTES)
        self._turns = WorkTurns()
        section = config.sasl_jaas_bookie_section_name
        self._exchanges = jaas_credentials(config.sasl_jaas_config, section, self._make, world.seconds)

    def bookie_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return the bookie's side of a new SASL exchange with the client ``peer``."""
        return self._exchanges.get()(peer)

    def _make(self, section: JaasSection) -> _NewExchange:
        mechanism = self._mechanism or _mechanism_of(section)
        if mechanism == GSSAPI:
            login, kerberos = section.kerberos_login(of_bookie=True), self._world.kerberos()
            contexts = from_key_tab(login, lambda: kerberos.acceptor(login), self._world.seconds)
            return partial(KerberosBookieExchange, contexts, partial(admit, self._allowed), self._turns)
        users = Users(section.passwords(), self._key, self._allowed)
        if mechanism == PLAIN:
            return partial(PlainBookieExchange, users)
        return lambda peer: DigestBookieExchange(users, self._world.seconds, self._world.random_bytes)


@implementer(IClientAuthentication)
class SaslClient:
    """The client's side of SASL: it makes an exchange for each connection to a bookie.

    :raises ConfigError: the mechanism is unknown, or needs TLS which is not configured; or the JAAS file cannot be
        used.
    """

    plugin = NAME

    def __init__(self, config: AuthenticationConfig, world: SaslWorld) -> None:
        self._world = world
        self._mechanism = _mechanism(config)
        self._service = config.sasl_service_name
        self._turns = WorkTurns()
        is_system = config.client_role == SYSTEM
        section = config.sasl_jaas_auditor_section_name if is_system else config.sasl_jaas_client_section_name
        self._exchanges = jaas_credentials(config.sasl_jaas_config, section, self._make, world.seconds)

    def client_exchange(self, peer: Peer) -> IAuthenticationExchange:
        """Return the client's side of a new SASL exchange with the bookie ``peer``."""
        return self._exchanges.get()(peer)

    def _make(self, section: JaasSection) -> _NewExchange:
        mechanism = self._mechanism or _mechanism_of(section)
        if mechanism == GSSAPI:
            login, kerberos = section.kerberos_login(of_bookie=False), self._world.kerberos()
            contexts = from_key_tab(login, lambda: kerberos.initiator(login, self._service), self._world.seconds)
            return partial(KerberosClientExchange, contexts, self._turns)
        account = Account(*section.account())
        if mechanism == PLAIN:
            return partial(PlainClientExchange, account)
        return lambda peer: DigestClientExchange(account, peer, self._world.random_bytes)


def _mechanism(config: AuthenticationConfig) -> str:
    """Return the name of the configured mechanism, or an empty string if no mechanism is configured.

    In the latter case, the login in the JAAS file determines the mechanism: GSSAPI for Kerberos, otherwise DIGEST-MD5.

    :raises ConfigError: the mechanism is unknown, or needs TLS which is not configured.
    """
    name = config.sasl_mechanism.strip().upper()
    if name not in ("", DIGEST_MD5, GSSAPI, PLAIN):
        raise config.error("sasl_mechanism", f"no such mechanism; {DIGEST_MD5}, {GSSAPI} and {PLAIN} are there")
    if name == PLAIN and not config.encrypts:
        raise config.error("sasl_mechanism", "passwords are refused in clear, so PLAIN needs tlsProviderFactoryClass")
    return name


def _mechanism_of(section: JaasSection) -> str:
    return GSSAPI if section.is_for_kerberos else DIGEST_MD5


def _allowed(config: AuthenticationConfig) -> "re.Pattern[str]":
    try:
        return re.compile(config.sasl_jaas_client_allowed_ids)
    except re.error as error:
        reason = f"no regular expression: {error}"
    raise config.error("sasl_jaas_client_allowed_ids", reason)
