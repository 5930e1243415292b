"""SASL: users prove who they are by passwords or by Kerberos, as with Apache's plugin ``sasl``.

Theory of operation.  The users and passwords of a bookie, and the user of a client, are in a file of JAAS
(:mod:`.jaas` reads the format, and :mod:`.credentials` the file, again when it has changed).  The tokens do not name a
mechanism, so both sides take it from their configuration (``saslMechanism``): :mod:`.digest_md5` or :mod:`.kerberos`
(GSSAPI), which Apache has, too, or :mod:`.plain`.  If no mechanism is configured, it is GSSAPI if the section of the
JAAS file has a login to Kerberos, else DIGEST-MD5.  :mod:`.sides` makes both sides from a configuration; it gets
randomness and time as arguments, which :mod:`.production` makes.  :mod:`.gssapi_contexts` calls the library of
Kerberos, which blocks, so these calls run on a thread of the reactor.

An exchange of DIGEST-MD5 (RFC 2831) has these tokens:

1. client: nothing.
2. bookie: a challenge with a nonce, a random text that the bookie uses for this connection alone.
3. client: its user, a nonce of its own, and a response: a digest of both nonces and the password.
4. bookie: ``rspauth``, another digest of the nonces and the password, which proves that the bookie knows the password.

The exchange is complete for the bookie when it has verified the response, for the client when it has verified
``rspauth``.  The password is never sent.  Java's client sends one more empty token, which a bookie answers like any
AUTH request of an authenticated peer.

In PLAIN (RFC 4616) the client sends user and password, and the bookie answers with an empty token.  Both sides refuse
PLAIN on an unencrypted connection.

Rules of all mechanisms:

* A side that refuses its peer fails with an :class:`~bookkeeper_twisted.errors.UnauthorizedAccessError`, and the
  connection is closed.  Java's bookie leaves its client waiting.
* A bookie keeps digests of the passwords and no passwords.  For an unknown user it computes and compares as much as
  for a wrong password, and it gives the same reason.
* Digests are compared in constant time.
* A bookie compares the name of the user with ``saslJaasClientAllowedIds`` last, after the user has proven who it is.
"""
