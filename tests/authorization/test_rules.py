"""What a file of rules says, held against a model that does without any of its code."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authorization.interfaces import Permission
from bookkeeper_twisted.authorization.rules import MOST_RULES, common_names, parse
from bookkeeper_twisted.security.principals import KINDS, NOBODY, Principal

_NAMES = ("alice", "bob", "CN=alice", "CN=bob,OU=0:writer", "O=x\\,CN=alice", "CN=a+CN=bob")
_ROLES = ("writer", "reader")
_URIS = ("spiffe://cluster/reader", "spiffe://cluster/writer", "spiffe://cluster-of-others/reader")
_CUSTOM = (("application", "pulsar"), ("application", "other"), ("tier", "1"))
_LAST = (1 << 63) - 1

principals = st.builds(
    Principal, st.sampled_from(KINDS[:3]), st.sampled_from(_NAMES),
    st.lists(st.sampled_from(_ROLES), max_size=2).map(tuple), st.lists(st.sampled_from(_URIS), max_size=2).map(tuple),
) | st.just(NOBODY)  # fmt: skip
selectors = st.sampled_from([
    ("*",), ("nobody",), ("kind", "certificate"), ("kind", "sasl"), ("name", "alice"), ("cn", "alice"), ("cn", "bob"),
    ("role", "writer"), ("uri", _URIS[0]), ("under", "spiffe://cluster/"), ("sasl", "alice"), ("token", "bob"),
    ("certificate", "CN=alice"),
])  # fmt: skip
ranges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).map(sorted), min_size=1, max_size=2)
rules = st.tuples(
    st.booleans(), st.lists(selectors, min_size=1, max_size=2), st.sets(st.sampled_from(Permission), min_size=1),
    st.none() | ranges, st.lists(st.sampled_from(_CUSTOM), max_size=2),
)  # fmt: skip


def _written(rule: Any) -> str:
    """A rule of the model as a line."""
    allows, who, what, ledgers, custom = rule
    words = ["allow" if allows else "deny"]
    for how, *text in who:
        word = f"{text[0]}*" if how == "under" else ":".join([how, *text])
        words.append(f'"{word}"')
    words.append(",".join(action.value for action in what))
    if ledgers is not None:
        ids = [f"{first}-{last}" if first < last else str(first) for first, last in ledgers]
        words.append("ledgers=" + ",".join(ids))
    words += [f"custom:{key}={value}" for key, value in custom]
    return " ".join(words) + "\n"


_COMMON_NAMES = {
    "CN=alice": {"alice"}, "CN=bob,OU=0:writer": {"bob"}, "O=x\\,CN=alice": set(), "CN=a+CN=bob": {"a", "bob"},
}  # fmt: skip


def _is_about(selector: tuple[str, ...], who: Principal) -> bool:
    """The model of a selector."""
    how, text = selector[0], selector[-1]
    if how == "*":
        return True
    if how == "nobody":
        return who is NOBODY
    if how == "kind":
        return who.kind == text
    if how == "name":
        return who.name == text
    if how == "cn":
        return who.kind == "certificate" and text in _COMMON_NAMES.get(who.name, set())
    if how == "role":
        return text in who.roles
    if how == "uri":
        return text in who.uris
    if how == "under":
        return _URIS[0] in who.uris or _URIS[1] in who.uris
    return (who.kind, who.name) == (how, text)


def _model(lines: list[Any], who: Principal, action: Permission, ledger: int | None, custom: dict[str, str]) -> bool:
    """What the rules say."""
    for allows, selectors_, what, ledgers, wanted in lines:
        if not all(_is_about(selector, who) for selector in selectors_) or action not in what:
            continue
        if ledger is None and (ledgers is not None or wanted):
            continue
        if ledgers is not None and not any(ledger in range(first, last + 1) for first, last in ledgers):
            continue
        if all(custom.get(key) == value for key, value in wanted):
            return bool(allows)
    return False


class ModelTests(SynchronousTestCase):
    """The rules as a whole."""

    def test_no_rule(self) -> None:
        """A file without a rule is refused: it may be one that was cut."""
        for text in ("", "# nothing\n"):
            self.assertIn("it has no rule", str(self.assertRaises(ValueError, parse, text)))

    @given(
        st.lists(rules, min_size=1, max_size=6), principals, st.sampled_from(Permission),
        st.none() | st.integers(0, 10), st.lists(st.sampled_from(_CUSTOM), max_size=2).map(dict),
    )  # fmt: skip
    def test_first_match(
        self, lines: list[Any], who: Principal, action: Permission, ledger: int | None, custom: dict[str, str]
    ) -> None:
        """The first rule that applies decides, and what no rule allows is refused."""
        parsed = parse("# a comment\n\n" + "".join(map(_written, lines)))
        known = {key: value.encode() for key, value in custom.items()}
        found = next(
            (rule.allows for rule in parsed.of(who) if rule.covers(action, ledger) and rule.fits(known)), False
        )
        self.assertEqual(found, _model(lines, who, action, ledger, custom))


class TextTests(SynchronousTestCase):
    """Lines one by one."""

    def about(self, line: str, who: Principal) -> bool:
        return bool(parse(line + "\n").of(who))

    def test_page(self) -> None:
        """The lines that the documentation shows."""
        parsed = parse(
            "allow role:writer write,read,fence ledgers=*\nallow cn:audit read\n"
            "allow spiffe://cluster/reader read custom:application=pulsar\ndeny * all\n"
        )
        self.assertEqual([rule.allows for rule in parsed.rules], [True, True, True, False])
        self.assertEqual(parsed.rules[0].actions, {Permission.WRITE, Permission.READ, Permission.FENCE})
        self.assertEqual(parsed.rules[3].actions, set(Permission))
        self.assertEqual(parsed.keys, {"application"})

    def test_uris(self) -> None:
        """A star stands for what is behind a slash: another domain with the same beginning is not meant."""
        for uri, expected in zip(_URIS, (True, True, False), strict=True):
            who = Principal("certificate", "CN=x", (), (uri,))
            self.assertEqual(self.about("allow spiffe://cluster/* read", who), expected)
        self.assertTrue(self.about("allow uri:urn:x read", Principal("certificate", "CN=x", (), ("urn:x",))))

    def test_names(self) -> None:
        """Names with spaces are quoted; a name that looks like a URI is a name; nobody has no name."""
        who = Principal("certificate", "CN=a client,OU=0:writers")
        self.assertTrue(self.about('allow "name:CN=a client,OU=0:writers" read', who))
        self.assertTrue(self.about('allow "cn:a client" read', who))
        self.assertTrue(self.about("allow name:http://me read", Principal("sasl", "http://me")))
        self.assertFalse(self.about("allow cn:alice read", Principal("sasl", "CN=alice")))
        self.assertTrue(self.about("allow sasl:alice read", Principal("sasl", "alice")))
        self.assertFalse(self.about("allow sasl:alice read", Principal("token", "alice")))
        self.assertTrue(self.about("allow name:alice read", Principal("token", "alice")))
        self.assertFalse(self.about("allow kind:certificate role:writer read", who))

    def test_custom(self) -> None:
        """A ledger has to have all entries that a rule names."""
        (rule,) = parse("allow * read custom:application=pulsar custom:tier=1\n").rules
        self.assertTrue(rule.fits({"application": b"pulsar", "tier": b"1", "other": b"x"}))
        for custom in ({"application": b"pulsar"}, {"application": b"pulsar", "tier": b"2"}, {}):
            self.assertFalse(rule.fits(custom))

    def test_common_names(self) -> None:
        """Escaped characters belong to values, so that no value can pass for a name; bad escapes take no time."""
        self.assertEqual(common_names("CN=a\\, b\\+c,O=\\,CN=x,cn=\\C3\\A9"), ("a, b+c", "é"))
        self.assertEqual(common_names(""), ())
        self.assertEqual(common_names("O=" + "\\aa" * 10_000 + "\\"), ())

    def test_numbers(self) -> None:
        """Ranges, single ids and open ends."""
        (rule,) = parse("allow * read ledgers=5-9,12,100-*\n").rules
        for ledger_id in (5, 9, 12, 100, _LAST):
            self.assertTrue(rule.covers(Permission.READ, ledger_id))
        for ledger_id in (-1, 0, 4, 10, 99):
            self.assertFalse(rule.covers(Permission.READ, ledger_id))
        self.assertFalse(rule.covers(Permission.READ, None))

    def test_mistakes(self) -> None:
        """A line that is no rule is refused with its number, and so is a file that may be cut."""
        for line, reason in (
            ("permit * all", "neither allow nor deny"), ("allow *", "no actions"), ("allow", "no actions"),
            ("allow read", "no actions"), ("allow alice read", "names no principal"), ("allow role: read", "names no"),
            ("allow kind:robot read", "none of certificate"), ("allow * fly", "no actions"),
            ("allow * read,fly", "no action is named 'fly'"), ("allow * read ledgers=9-5", "empty range"),
            ("allow * read ledgers=a", "no ledger id"), ("allow * read ledgers=", "no ledger id"),
            ("allow * read ledgers=1 ledgers=2", "neither one ledgers"), ("allow * read custom:a", "no KEY=VALUE"),
            ("allow * read on-mondays", "neither one ledgers"), ("allow spiffe://a/*/b read", "only as its last"),
            ("allow spiffe://a* read", "only as its last"), ('allow "cn:a read', "quotation"),
            (f"allow * read custom:a={'v' * 2000}", "more than 1024 bytes"),
        ):  # fmt: skip
            with self.subTest(line):
                error = self.assertRaises(ValueError, parse, f"# first\n{line}\n")
                self.assertRegex(str(error), f"line 2: .*{reason}")
        self.assertIn("cut", str(self.assertRaises(ValueError, parse, "allow * read ledgers=1")))
        many = self.assertRaises(ValueError, parse, "allow * all\n" * (MOST_RULES + 1))
        self.assertIn("more than", str(many))
