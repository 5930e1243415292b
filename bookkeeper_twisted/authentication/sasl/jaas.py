"""The format of JAAS files, from which Java programs read users and passwords.

A file has sections, a section has login modules, and a module has options; comments are written as in Java::

    Bookie {
        org.apache.zookeeper.server.auth.DigestLoginModule required
            user_bookkeeper="secret"
            user_auditor-bookkeeper="another";
    };

Every error is a :class:`~bookkeeper_twisted.errors.ConfigError` that begins with the number of the line.  Any word of a
malformed file may be part of a password, so errors contain no text of the file except names of sections and users.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, NoReturn, TypeVar

import attrs

from ...errors import ConfigError

_TOKEN = re.compile(
    r"""
      (?P<space>   \s+ | //[^\n]* | /\*.*?\*/ )
    | (?P<quoted>  "(?:[^"\\\n]|\\[^\n])*" )
    | (?P<word>    [\w.$*-]+ )
    | (?P<sign>    [{};=] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)")
_CONTROLS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})
_USER = "user_"
_KERBEROS = "Krb5LoginModule"

T = TypeVar("T")


@attrs.frozen
class LoginModule:
    """A login module in a section of a JAAS file.

    :ivar name: Java class of the module.
    :ivar line: number of the line that contains the name.
    :ivar options: the value of each option, by its name.
    """

    name: str
    line: int
    options: Mapping[str, str] = attrs.field(repr=False)


@attrs.frozen
class KerberosLogin:
    """The login of a process to Kerberos.

    :ivar principal: the principal of this process, as ``name@REALM``; empty for the principal of the ticket cache.
    :ivar key_tab: path of the keytab file; empty if a ticket cache is used instead.
    :ivar ticket_cache: the name of the ticket cache; empty for the cache that the environment or ``krb5.conf`` names.
    """

    principal: str
    key_tab: str
    ticket_cache: str


@attrs.frozen
class JaasSection:
    """A section of a JAAS file, with its login modules.

    :ivar line: number of the line with the name of the section.
    """

    name: str
    line: int
    modules: tuple[LoginModule, ...]

    def passwords(self) -> dict[str, str]:
        """Return the password of each user of a bookie, from the options ``user_NAME`` of all modules.

        :raises ConfigError: there is no password, a password is empty, a user has two passwords, or the section is for
            Kerberos.
        """
        found: dict[str, str] = {}
        for module in self._digest_modules():
            for option, password in module.options.items():
                if option.startswith(_USER):
                    name = option.removeprefix(_USER)
                    if not name or not password:
                        _fail(module.line, f"user {name!r} has an empty name or password")
                    if name in found:
                        _fail(module.line, f"user {name!r} is in two modules")
                    found[name] = password
        if not found:
            _fail(self.line, f'section {self.name!r} has no users: options as user_NAME="PASSWORD" in a module')
        return found

    def account(self) -> tuple[str, str]:
        """Return the user and the password of a client, from the first module that has both options.

        :raises ConfigError: no module has both options, or the section is for Kerberos.
        """
        for module in self._digest_modules():
            name, password = module.options.get("username"), module.options.get("password")
            if name and password:
                return name, password
        _fail(self.line, f"section {self.name!r} has no module with the options username and password")

    @property
    def is_for_kerberos(self) -> bool:
        """Whether one of the section's modules is Java's login module for Kerberos."""
        return any(map(_is_for_kerberos, self.modules))

    def kerberos_login(self, of_bookie: bool) -> KerberosLogin:
        """Return the Kerberos login in the section, from the first module for Kerberos.

        :param of_bookie: whether the login is for a bookie, which needs a keytab file.
        :raises ConfigError: no module is for Kerberos, or its options name neither a keytab file nor a ticket cache.
        """
        for module in self.modules:
            if _is_for_kerberos(module):
                return _kerberos_login(module, of_bookie)
        _fail(self.line, f"section {self.name!r} has no module {_KERBEROS}, which saslMechanism=GSSAPI needs")

    def _digest_modules(self) -> tuple[LoginModule, ...]:
        for module in self.modules:
            if _is_for_kerberos(module):
                _fail(module.line, f"section {self.name!r} is for Kerberos (GSSAPI), and saslMechanism is another")
        return self.modules


def _is_for_kerberos(module: LoginModule) -> bool:
    return module.name.endswith(_KERBEROS) or "principal" in module.options


def _kerberos_login(module: LoginModule, of_bookie: bool) -> KerberosLogin:
    options = module.options
    principal, key_tab = options.get("principal", ""), options.get("keyTab", "")
    if options.get("useKeyTab", "").lower() == "true":
        if not principal or not key_tab:
            _fail(module.line, "useKeyTab=true needs the options keyTab and principal")
        return KerberosLogin(principal, key_tab[5:] if key_tab[:5].lower() == "file:" else key_tab, "")
    if of_bookie:
        _fail(module.line, "a bookie needs the options useKeyTab=true, keyTab and principal")
    if options.get("useTicketCache", "").lower() != "true":
        _fail(module.line, "a client needs the option useKeyTab=true or useTicketCache=true: nobody is asked here")
    return KerberosLogin(principal, "", options.get("ticketCache", ""))


class _Token(NamedTuple):
    """A token of a JAAS file: a word, a quoted string without its quotation marks, or a punctuation mark.

    The token at the end of the file has an empty ``kind``.
    """

    kind: str
    text: str
    line: int


def read_jaas(text: str) -> dict[str, JaasSection]:
    """Return the sections of a JAAS file by their names.

    :raises ConfigError: the text is no valid JAAS file, or two sections have the same name.
    """
    return _JaasReader(text).sections()


def _fail(line: int, reason: str) -> NoReturn:
    raise ConfigError(f"line {line}: {reason}")


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            _fail(line, "a comment or a quoted text without its end, or a character that needs quotation marks")
        if found.lastgroup == "quoted":
            yield _Token("quoted", _ESCAPE.sub(_unescaped, found[0][1:-1]), line)
        elif found.lastgroup != "space":
            yield _Token(found.lastgroup or "", found[0], line)
        line += found[0].count("\n")
        at = found.end()
    yield _Token("", "", line)


def _unescaped(escape: "re.Match[str]") -> str:
    text = escape[1]
    return chr(int(text, 8)) if text[0] in "01234567" else _CONTROLS.get(text, text)


class _JaasReader:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = next(self._tokens)

    def sections(self) -> dict[str, JaasSection]:
        found: dict[str, JaasSection] = {}
        while self._next.kind:
            name = self._take("the name of a section")
            self._sign("{", "after the name of a section")
            modules = tuple(self._until("}", self._module))
            self._sign(";", "after the } of a section")
            if name.text in found:
                _fail(name.line, f"section {name.text!r} is there twice")
            found[name.text] = JaasSection(name.text, name.line, modules)
        return found

    def _module(self) -> LoginModule:
        name = self._take("the class of a module")
        if self._take("required, requisite, sufficient or optional").text.lower() not in _FLAGS:
            _fail(name.line, "expected required, requisite, sufficient or optional after the class of a module")
        options: dict[str, str] = {}
        for option, value in self._until(";", self._option):
            if option.text in options:
                _fail(option.line, "an option is there twice in a module")
            if "${" in value.text:
                _fail(value.line, "an option has ${, and properties of Java are not known here")
            options[option.text] = value.text
        return LoginModule(name.text, name.line, options)

    def _option(self) -> tuple[_Token, _Token]:
        name = self._take("an option, or ; after the last one")
        self._sign("=", "after the name of an option")
        return name, self._take("the value of an option")

    def _until(self, sign: str, read: Callable[[], T]) -> Iterator[T]:
        """Call ``read`` and yield its result, repeatedly, until the next token is ``sign``; then skip this token."""
        while not self._is_sign(sign):
            yield read()
        self._advance()

    def _take(self, wanted: str) -> _Token:
        token = self._next
        if token.kind not in ("word", "quoted"):
            _fail(token.line, f"expected {wanted}")
        self._advance()
        return token

    def _sign(self, sign: str, where: str) -> None:
        if not self._is_sign(sign):
            _fail(self._next.line, f"expected {sign} {where}")
        self._advance()

    def _is_sign(self, sign: str) -> bool:
        return self._next.kind == "sign" and self._next.text == sign

    def _advance(self) -> None:
        self._next = next(self._tokens)
