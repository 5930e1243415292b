"""SASL: users prove who they are by passwords or by Kerberos, as with Apache's plugin ``sasl``.

Theory of operation.  A JAAS file contains the users and passwords of a bookie, or the user and password of a client.
:mod:`.jaas` parses the file, and :mod:`.credentials` reads it again when it has changed.  ``saslMechanism`` in the
configuration of each side selects the mechanism, because tokens do not name one: :mod:`.digest_md5`, :mod:`.kerberos`
(GSSAPI) or :mod:`.plain`.  Apache supports the first two.  By default, the mechanism is GSSAPI if the section of the
JAAS file has a Kerberos login, otherwise DIGEST-MD5.

:mod:`.sides` makes both sides of authentication from a configuration, with the clock and the random numbers of
:mod:`.production`.  :mod:`.gssapi_contexts` calls the Kerberos library, whose functions may block, so they run in the
reactor's thread pool.

An exchange of DIGEST-MD5 (RFC 2831) has these tokens:

1. client: nothing.
2. bookie: a challenge with a nonce, a random text that the bookie uses for this connection alone.
3. client: the name of its user, a nonce of its own, and a response, which is a digest of both nonces and the password.
4. bookie: ``rspauth``, another digest of the nonces and the password, which proves that the bookie knows the password.

The exchange is complete for the bookie when the bookie has verified the response, and for the client when the client
has verified ``rspauth``.  The password is never sent.  Java's client sends one more empty token after step 4.  The
exchange is complete for the bookie then, so the bookie replies with an empty token, as if authentication were disabled.

In PLAIN (RFC 4616) the client sends user and password, and the bookie replies with an empty token.  Both sides refuse
PLAIN on an unencrypted connection.

Rules of all mechanisms:

* If a side refuses its peer, its exchange fails with an :class:`~bookkeeper_twisted.errors.UnauthorizedAccessError`,
  and the connection is closed.  (Java's bookie does not reply, so its client waits.)
* A bookie stores digests of passwords, not the passwords.  For an unknown user, it does the same computations as for a
  wrong password, and gives the same reason, so that a client cannot find out which users exist.
* Digests are compared in constant time.
* A bookie compares the name of the user with ``saslJaasClientAllowedIds`` only after the user has been authenticated.
"""
