"""Plants in TLS: what is verified, what is spoken, and files that change."""

from .plant import Plant

_CONTEXTS, _KEYS = "security/contexts.py", "security/keys.py"
_JKS, _OPENSSL, _PRINCIPALS = "security/jks.py", "security/openssl.py", "security/principals.py"
_MADE, _READ = ["tests.security.test_contexts"], ["tests.security.test_keys"]
_RENEWED = ["tests.security.test_renewal"]
_STORES, _NAMED = ["tests.security.test_jks"], ["tests.security.test_principals"]

PLANTS = (
    Plant(
        "a trust store that is cut off is taken as whole", "security/keys.py",
        "len(found) != len(_CERTIFICATE_BEGIN.findall(data))", "False", ["tests.security.test_keys"],
        where="_pem_certificates",
    ),
    Plant(
        "every chain of certificates is believed", _OPENSSL,
        "if not valid: ...", "if False: ...", _MADE, where="_verify_chain",
    ),
    Plant(
        "a client verifies no certificate", _OPENSSL,
        "context.set_verify(SSL.VERIFY_PEER, _verify_bookie)", "pass", _MADE, where="client_context",
    ),
    Plant(
        "a certificate for another host is believed", _OPENSSL,
        "depth == 0 and connection.expected is not None", "False", _MADE, where="_verify_bookie",
    ),
    Plant(
        "an issuer has to have the name of the host", _OPENSSL,
        "depth == 0 and connection.expected is not None", "connection.expected is not None", _MADE,
        where="_verify_bookie",
    ),
    Plant(
        "hosts are verified although the configuration says no", _OPENSSL,
        "host if verified else None", "host", _MADE, where="HostConnection.__init__",
    ),
    Plant(
        "an address is taken for a host name", _OPENSSL,
        "ip_address(host)", "raise ValueError", _MADE, where="_is_address",
    ),
    Plant(
        "a certificate that names no host is an error that Twisted does not expect", _OPENSSL,
        "(VerificationError, CertificateError, ValueError)", "(VerificationError, ValueError)", _MADE,
        where="_verify_host",
    ),
    Plant(
        "an error has the control characters of a subject", _OPENSSL,
        "each if each.isprintable() else f'\\\\x{ord(each):02x}'", "each", _MADE, where="_subject",
    ),
    Plant(
        "an error is as long as a subject", _OPENSSL,
        "text[:_LONGEST_NAME]", "text", _MADE, where="_subject",
    ),
    Plant(
        "a subject that cannot be read is an error that Twisted does not expect", _OPENSSL,
        "ValueError", "KeyError", _MADE, where="_subject",
    ),
    Plant(
        "a peer whose subject cannot be read is let in", _OPENSSL,
        "name is None", "False", _MADE, where="_verify_chain",
    ),
    Plant(
        "a client without a certificate is let in", _OPENSSL,
        "SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT", "SSL.VERIFY_PEER", _MADE, where="server_context",
    ),
    Plant(
        "no client is asked for a certificate", _CONTEXTS,
        "keys.read_trusted(self._settings.trusted) if self._settings.client_authentication else None", "None", _MADE,
        where="ServerTls._make",
    ),
    Plant(
        "a client shows its certificate unasked", _CONTEXTS,
        "keys.read_identity(self._settings.keys) if self._settings.client_authentication else None",
        "keys.read_identity(self._settings.keys)", _MADE, where="_ClientStores._read",
    ),
    Plant(
        "only roots can be trusted", _OPENSSL,
        "store.set_flags(X509StoreFlags.PARTIAL_CHAIN)", "", _MADE, where="_trust",
    ),
    Plant(
        "TLS 1.1 is spoken", _OPENSSL,
        "context.set_min_proto_version(min(versions))", "context.set_min_proto_version(SSL.TLS1_1_VERSION)", _MADE,
        where="_context",
    ),
    Plant(
        "a newer protocol is spoken than the configuration names", _OPENSSL,
        "context.set_max_proto_version(max(versions))", "", _MADE, where="_context",
    ),
    Plant(
        "sessions are resumed", _OPENSSL,
        "context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION | SSL.OP_NO_TICKET)\n"
        "context.set_session_cache_mode(SSL.SESS_CACHE_OFF)",
        "context.set_options(SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION)", _MADE, where="_context",
    ),
    Plant(
        "a connection is negotiated anew", _OPENSSL,
        "SSL.OP_NO_COMPRESSION | SSL.OP_NO_RENEGOTIATION | SSL.OP_NO_TICKET", "SSL.OP_NO_TICKET", _MADE,
        where="_context",
    ),
    Plant(
        "unknown suites are ignored", _OPENSSL,
        "for name in ciphers: ...", "", _MADE, where="_context",
    ),
    Plant(
        "suites without encryption are taken", _OPENSSL,
        "_NEVER = ':!aNULL:!eNULL:!PSK:!SRP:!LOW:!EXPORT:!DES:!3DES:!RC4:!RC2:!IDEA:!SEED:!MD5'",
        "_NEVER = ':!aNULL:!PSK:!SRP:!LOW:!EXPORT:!DES:!3DES:!RC4:!RC2:!IDEA:!SEED:!MD5'", _MADE, where="",
    ),
    Plant(
        "suites without a certificate are taken", _OPENSSL,
        "_NEVER = ':!aNULL:!eNULL:!PSK:!SRP:!LOW:!EXPORT:!DES:!3DES:!RC4:!RC2:!IDEA:!SEED:!MD5'",
        "_NEVER = ':!eNULL:!PSK:!SRP:!LOW:!EXPORT:!DES:!3DES:!RC4:!RC2:!IDEA:!SEED:!MD5'", _MADE, where="",
    ),
    Plant(
        "a set of suites is taken for a suite", _OPENSSL,
        "found == [name] or (len(found) == 1 and '_WITH_' in name)", "bool(found)", _MADE, where="_is_one_suite",
    ),
    Plant(
        "commands of OpenSSL are taken for suites", _OPENSSL,
        "_SUITE.fullmatch(name) is not None and _is_one_suite(name)", "_is_one_suite(name.partition(':')[0])", _MADE,
        where="_require_suite",
    ),
    Plant(
        "suites of TLS 1.3 without encryption are taken", _OPENSSL,
        "name in _CIPHERS_OF_13", "True", _MADE, where="_require_suite",
    ),
    Plant(
        "the costlier suite of TLS 1.3 is preferred", _OPENSSL,
        "newer or DEFAULT_CIPHERS_OF_13", "newer or DEFAULT_CIPHERS_OF_13[1:] + DEFAULT_CIPHERS_OF_13[:1]", _MADE,
        where="_context",
    ),
    Plant(
        "a list of suites limits TLS 1.2 alone", _OPENSSL,
        "if not ciphers: ...", "if True:\n    return protocols", _MADE, where="_spoken",
    ),
    Plant(
        "unknown protocols are ignored", _CONTEXTS,
        "name not in PROTOCOLS and name not in _OLD", "False", _MADE, where="TlsSettings.__attrs_post_init__",
    ),
    Plant(
        "a bookie does not see that its trust store has changed", _CONTEXTS,
        "(settings.keys, settings.trusted) if settings.client_authentication else (settings.keys,)",
        "(settings.keys,)", _RENEWED, where="ServerTls._stores",
    ),
    Plant(
        "a client does not see that its certificate has changed", _CONTEXTS,
        "(settings.keys, settings.trusted) if settings.client_authentication else (settings.trusted,)",
        "(settings.trusted,)", _RENEWED, where="_ClientStores._stores",
    ),
    Plant(
        "an expired certificate is no line of the log", _CONTEXTS,
        "log.warn('{sentence}', sentence=sentence)", "pass", _MADE, where="_warn",
    ),
    Plant(
        "a key may have the certificate of another key", _KEYS,
        "certificate != key", "False", _READ, where="read_identity",
    ),
    Plant(
        "the password of a store has the end of its line", _KEYS,
        "password.strip(_SPACE)", "password", _READ, where="_password",
    ),
    Plant(
        "the password of a key in PEM has the end of its line", _KEYS,
        "password.rstrip('\\r\\n')", "password", _READ, where="_password",
    ),
    Plant(
        "the password of a key in PEM is trimmed", _KEYS,
        "password.rstrip('\\r\\n')", "password.strip()", _READ, where="_password",
    ),
    Plant(
        "the error for a password that is not text has the password", _KEYS,
        "password = None", "raise", _READ, where="_password",
    ),
    Plant(
        "the issuers of a bookie's certificate are trusted", _KEYS,
        "others.remove(certificate)", "pass", _READ, where="_pkcs12",
    ),
    Plant(
        "a store in JKS with another digest is read", _JKS,
        "not hmac.compare_digest(digest, expected)", "False", _STORES, where="read_jks",
    ),
    Plant(
        "a key in JKS that was read with a wrong password is taken", _JKS,
        "not hmac.compare_digest(check, hashlib.sha1(spelled + key).digest())", "False", _STORES, where="unprotect",
    ),
    Plant(
        "certificates of the older version of JKS have a kind", _JKS,
        "version > 1 and self.text() not in ('X.509', 'X509')", "self.text() not in ('X.509', 'X509')", _STORES,
        where="_Reader.certificate",
    ),
    Plant(
        "of several codes of roles the first counts", _PRINCIPALS,
        "codes[match[1]] = match[2]", "codes.setdefault(match[1], match[2])", _NAMED, where="roles_of",
    ),
    Plant(
        "a role has the end of a line in front of it", _PRINCIPALS,
        r"re.compile('([0-9]+):([^\n\r\x85\u2028\u2029]*)(?:\r\n|[\n\r\x85\u2028\u2029])?')",
        "re.compile('([0-9]+):(.*)')", _NAMED, where="",
    ),
    Plant(
        "roles are read from any code", _PRINCIPALS,
        "codes.get(_ROLES, '')", "''.join(codes.values())", _NAMED, where="roles_of",
    ),
    Plant(
        "a role with a space that Java keeps is the one without", _PRINCIPALS,
        "role.strip(_JAVA_SPACE)", "role.strip()", _NAMED, where="roles_of",
    ),
    Plant(
        "the last unit of a certificate counts", _PRINCIPALS,
        "units[0].value", "units[-1].value", _NAMED, where="principal_of",
    ),
)
