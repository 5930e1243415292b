"""Authorization rules: parses their text, and tests whether a rule applies to a request.

A file has one rule a line; ``#`` begins a comment, and quotes surround a word with spaces::

    deny   uri:spiffe://cluster/guest  all
    allow  role:writer                 write,read,fence  ledgers=*
    allow  cn:audit                    read
    allow  spiffe://cluster/reader     read              custom:application=pulsar

The first rule that applies to a request decides.  If no rule applies, the request is refused.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from ..security.principals import KINDS, Principal
from .interfaces import ADMINISTRATION, Permission

MOST_RULES = 5_000
MOST_VALUE = 1_024
"""Maximum number of bytes of a custom metadata value in a rule."""

_EVERY_LEDGER = ((-(1 << 63), (1 << 63) - 1),)
_RANGE = re.compile(r"(\d{1,19})(?:-(\d{1,19}|\*))?")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ACTIONS: Mapping[str, frozenset[Permission]] = {
    **{action.value: frozenset({action}) for action in Permission},
    "admin": ADMINISTRATION, "all": frozenset(Permission),
}  # fmt: skip

Matches = Callable[[Principal], bool]


@attrs.frozen
class Rule:
    """A rule: it allows or refuses certain actions of certain principals on certain ledgers.

    :ivar allows: True if the rule allows these actions, False if it refuses them.
    :ivar selectors: tests of the principal; the rule applies only to principals that pass all of them.
    :ivar ledgers: first and last id of each range of ledgers to which the rule applies.  None: the rule applies to all
        ledgers, and to requests about no ledger.
    :ivar custom: keys and values that the custom metadata of the ledger must contain.
    """

    allows: bool
    selectors: tuple[Matches, ...]
    actions: frozenset[Permission]
    ledgers: tuple[tuple[int, int], ...] | None = None
    custom: tuple[tuple[str, bytes], ...] = ()

    def is_about(self, principal: Principal) -> bool:
        """Test whether the rule applies to requests of a ``principal``."""
        return all(matches(principal) for matches in self.selectors)

    def covers(self, action: Permission, ledger_id: int | None) -> bool:
        """Test whether the rule applies to an action on a ledger, without testing its condition on custom metadata.

        :param action: the permission that the action needs.
        :param ledger_id: id of the ledger; None if the request is about no ledger.
        """
        if action not in self.actions:
            return False
        if ledger_id is None:
            return self.ledgers is None and not self.custom
        return self.ledgers is None or any(first <= ledger_id <= last for first, last in self.ledgers)

    def fits(self, custom: Mapping[str, bytes]) -> bool:
        """Test whether the custom metadata of a ledger, ``custom``, meet the rule's condition on custom metadata."""
        return all(custom.get(key) == value for key, value in self.custom)


@attrs.frozen
class Rules:
    """All rules of a file, in order.

    :ivar keys: the keys of custom metadata on which rules depend.
    """

    rules: tuple[Rule, ...]
    keys: frozenset[str]

    def of(self, principal: Principal) -> tuple[Rule, ...]:
        """Return the rules that apply to a ``principal``, in order."""
        return tuple(rule for rule in self.rules if rule.is_about(principal))


def parse(text: str) -> Rules:
    """Parse the text of a file of rules.

    :raises ValueError: a line is not a rule, there are no rules, or the last line does not end with a line end, so the
        file may be truncated.
    """
    if text and not text.endswith("\n"):
        raise ValueError("the last line has no end: the file may be cut")
    rules: list[Rule] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            words = shlex.split(line, comments=True)
            if words:
                rules.append(_rule(words))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    if not rules:
        raise ValueError("it has no rule: the file may be cut; a rule that refuses everything is deny * all")
    if len(rules) > MOST_RULES:
        raise ValueError(f"{len(rules)} rules, more than {MOST_RULES}")
    return Rules(tuple(rules), frozenset(key for rule in rules for key, _ in rule.custom))


def _rule(words: Sequence[str]) -> Rule:
    if words[0] not in ("allow", "deny"):
        raise ValueError(f"{words[0]!r} is neither allow nor deny")
    at = next((i for i, word in enumerate(words[2:], 2) if word.split(",")[0] in _ACTIONS), None)
    if at is None:
        raise ValueError(f"no actions behind the principal; there are {', '.join(_ACTIONS)}")
    selectors = tuple(_selector(word) for word in words[1:at])
    ledgers: tuple[tuple[int, int], ...] | None = None
    custom: list[tuple[str, bytes]] = []
    for word in words[at + 1 :]:
        if word.startswith("ledgers=") and ledgers is None:
            ledgers = tuple(_ranges(word.removeprefix("ledgers=")))
        elif word.startswith("custom:"):
            custom.append(_custom(word.removeprefix("custom:")))
        else:
            raise ValueError(f"{word!r} is neither one ledgers=... nor custom:KEY=VALUE")
    return Rule(words[0] == "allow", selectors, _actions(words[at]), ledgers, tuple(custom))


def _actions(word: str) -> frozenset[Permission]:
    found: frozenset[Permission] = frozenset()
    for name in word.split(","):
        if name not in _ACTIONS:
            raise ValueError(f"no action is named {name!r}; there are {', '.join(_ACTIONS)}")
        found |= _ACTIONS[name]
    return found


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    if text == "*":
        yield from _EVERY_LEDGER
        return
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is no ledger id and no range of ids, as 5-9 or 100-*")
        first, end = int(match[1]), match[2] or match[1]
        last = (1 << 63) - 1 if end == "*" else int(end)
        if first > last:
            raise ValueError(f"{part!r} is an empty range")
        yield first, last


def _custom(text: str) -> tuple[str, bytes]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise ValueError(f"custom:{text} has no KEY=VALUE")
    if len(value.encode()) > MOST_VALUE:
        raise ValueError(f"the value of custom:{key} has more than {MOST_VALUE} bytes")
    return key, value.encode()


# ---- principals --------------------------------------------------------------------------------------


def _selector(word: str) -> Matches:
    """Return the function that tests whether a principal matches one word of a rule, such as ``role:writer``."""
    if word == "*":
        return lambda principal: True
    if word == "nobody":
        return lambda principal: principal.kind == "none"
    if _URI.match(word):
        return _of_uri(word)
    how, colon, text = word.partition(":")
    make = _SELECTORS.get(how)
    if make is None or not colon or not text:
        raise ValueError(
            f"{word!r} names no principal: it should be *, nobody, a URI, or one of {', '.join(_SELECTORS)} with a text"
        )
    return make(text)


def _of_kind(text: str) -> Matches:
    if text not in KINDS:
        raise ValueError(f"kind:{text} is none of {', '.join(KINDS)}")
    return lambda principal: principal.kind == text


def _of_uri(text: str) -> Matches:
    if text.endswith("/*"):
        start = text[:-1]
        return lambda principal: any(uri.startswith(start) for uri in principal.uris)
    if "*" in text:
        raise ValueError(f"{text}: a URI may have a star only as its last part, behind a slash")
    return lambda principal: text in principal.uris


def _named(kind: str) -> Callable[[str], Matches]:
    return lambda text: lambda principal: principal.kind == kind and principal.name == text


_SELECTORS: Mapping[str, Callable[[str], Matches]] = {
    "kind": _of_kind,
    "name": lambda text: lambda principal: principal.kind != "none" and principal.name == text,
    "cn": lambda text: lambda principal: principal.kind == "certificate" and text in common_names(principal.name),
    "uri": _of_uri,
    "role": lambda text: lambda principal: text in principal.roles,
    "certificate": _named("certificate"),
    "sasl": _named("sasl"),
    "token": _named("token"),
}

_TOKEN = re.compile(r"[,+]|[^\\,+]+|\\.|\\", re.DOTALL)
_ESCAPED = re.compile(rb"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)


def common_names(subject: str) -> tuple[str, ...]:
    """Return the common names in the subject of a certificate.

    In RFC 4514, commas and plus signs inside a value are escaped.  So a value of another attribute, for example an OU
    that contains the text ``,CN=``, is not mistaken for a common name.

    :param subject: the subject in the form of RFC 4514, for example ``CN=a client,OU=0:writers``.
    """
    parts: list[list[str]] = [[]]
    for token in _TOKEN.findall(subject):
        if token in (",", "+"):
            parts.append([])
        else:
            parts[-1].append(token)
    pairs = ("".join(part).partition("=") for part in parts)
    return tuple(_unescaped(value) for name, _, value in pairs if name.upper() == "CN")


def _unescaped(value: str) -> str:
    def character(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return bytes.fromhex(code.decode()) if len(code) == 2 else code

    return _ESCAPED.sub(character, value.encode()).decode("utf-8", "replace")
