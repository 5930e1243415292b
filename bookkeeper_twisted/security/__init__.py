"""TLS, the identities of peers, signed tokens, and the encryption of entries.

Theory of operation.  The same configuration keys as in Apache's ``bk_server.conf`` name the key store and the trust
store (:mod:`.keys`), which may have Java's format JKS (:mod:`.jks`).  When a bookie or a client starts, it makes a
:class:`~.contexts.ServerTls` or a :class:`~.contexts.ClientTls`, which reads these files.  If a file cannot be used,
the start fails with a :class:`~bookkeeper_twisted.errors.ConfigError`.  Before new connections, at most once in
``refresh_seconds``, these objects check whether the files have changed, and make a new TLS context if they have.  If
the changed files cannot be used, the error is logged, and the old context stays in use.  Open connections keep their
context.

The TLS handshake verifies the peer (:mod:`.openssl`): the chain of its certificate must end at a trusted certificate.
A client also verifies that the bookie's certificate contains the name or address to which the client connected.
:mod:`.principals` derives the identity of the peer from its certificate, for authorization.

A signed token can also prove the identity of a peer (:mod:`.tokens`).  Like the files of TLS, the files with the keys
of tokens (:mod:`.token_keys`) are read again when they have changed (:mod:`.files`).

A client can encrypt the entries of a ledger with a key of the ledger (:mod:`.entry_cipher`).  A key provider encrypts
(wraps) this key for the ledger's metadata (:mod:`.ledger_keys`).

The libraries of the extra ``tls`` are imported only when they are needed, by :mod:`.keys`, :mod:`.openssl` and
:mod:`.entry_cipher`; those of the extra ``jwt`` when the first verifier of tokens is made.
"""
