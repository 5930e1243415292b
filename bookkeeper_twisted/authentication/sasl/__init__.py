"""SASL: users prove who they are by passwords or by Kerberos, as with the plugin ``sasl`` of Apache's.

Theory of operation.  The users and passwords of a bookie, and the user of a client, are in a file of JAAS
(:mod:`.jaas` reads the format, and :mod:`.credentials` the file, again when it has changed).  The tokens do not name a
mechanism, so both sides take it from their configuration: :mod:`.digest_md5` and :mod:`.kerberos` (GSSAPI), as
Apache's, or :mod:`.plain`.  Without a name there, a section with a login to Kerberos means GSSAPI, any other section
DIGEST-MD5.  :mod:`.sides` makes both sides from a configuration; randomness and time are arguments, which
:mod:`.production` has.  :mod:`.gssapi_contexts` calls the library of Kerberos, which blocks: it works on a thread of
the reactor.

An exchange of DIGEST-MD5 (RFC 2831) has these tokens:

1. client: nothing.
2. bookie: a challenge with a nonce, a random text that the bookie uses for this connection alone.
3. client: its user, a nonce of its own, and a response: a digest of both nonces and the password.
4. bookie: ``rspauth``, another digest of the same, by which the bookie proves that it knows the password, too.

The bookie is complete when it has verified the response, the client when it has verified ``rspauth``.  The password
never travels.  Java's client sends one empty token more, which a bookie answers like any AUTH request of a peer that is
authenticated.

In PLAIN (RFC 4616) the client sends user and password, and the bookie answers with an empty token.  Neither side takes
part in it on a connection in clear.

Rules of all mechanisms:

* A side that refuses its peer fails with an :class:`~bookkeeper_twisted.errors.UnauthorizedAccessError`, and the
  connection is closed.  Java's bookie leaves its client waiting.
* A bookie keeps digests of the passwords and no passwords.  For an unknown user it computes and compares as much as
  for a wrong password, and it gives the same reason.
* Digests are compared in constant time.
* A bookie compares the name of the user with ``saslJaasClientAllowedIds`` last, when the user is proven.
"""
