"""Authentication of clients and bookies by signed tokens, certificates, passwords or Kerberos.

Theory of operation.  ``bookieAuthProviderFactoryClass`` and ``clientAuthProviderFactoryClass`` name a plugin
(:mod:`.plugins`).  When a bookie or a client starts, its plugin reads the configuration and the files that the
configuration names.  If one of them is invalid, the start fails with a :class:`~bookkeeper_twisted.errors.ConfigError`.
The plugin makes an object for the bookie's side or the client's side of authentication.  For each connection, this
object makes an *exchange*: a series of tokens that both sides send each other.  An exchange ends with the principal
(the proven identity) of the peer, or with a refusal.  The interfaces are in
:mod:`bookkeeper_twisted.protocol.authentication`; connections transport the tokens without interpreting them.

:mod:`.tokens` authenticates by signed tokens, :mod:`.certificates` by the roles in the certificates of clients, and
:mod:`.sasl` by passwords or Kerberos.

Secrets are compared in constant time.  No error text and no ``repr`` contains a secret, because both may be logged.
"""
