"""The format of JAAS files."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from bookkeeper_twisted.authentication.sasl.jaas import JaasSection, KerberosLogin, read_jaas
from bookkeeper_twisted.errors import ConfigError

_FILE = r'''
// a comment
Bookie { /* another
            { ; " } */
    org.apache.zookeeper.server.auth.DigestLoginModule required
        user_bookkeeper = "se\"sa\\me\t\101"
        "user_a@b"="//no comment" // a comment
        user_c-d=word;
    another.Module OPTIONAL debug="true" user_e="/*";
};
BookKeeper {
    some.Module sufficient;
    other.Module requisite username="bookkeeper" password="sesame";
};
Empty { };
'''

_PARTS = ("A", "x.y", "required", ";", "{", "}", "=", '"a"', "'", '"', "/*", "*/", "//", "\\", "\n")


class FormatTests(SynchronousTestCase):
    """What is read, and what is refused."""

    def refused(self, text: str) -> str:
        """Why a text is refused; no password is in the reason."""
        error = str(self.assertRaises(ConfigError, _all, text))
        self.assertNotIn("sesame", error)
        return error

    def test_sections(self) -> None:
        """Comments, quotes, escapes, words and several modules, as Java reads them."""
        sections = read_jaas(_FILE)
        self.assertEqual(list(sections), ["Bookie", "BookKeeper", "Empty"])
        bookie = sections["Bookie"]
        self.assertEqual((bookie.line, [module.line for module in bookie.modules]), (3, [5, 9]))
        self.assertEqual(
            bookie.passwords(),
            {"bookkeeper": 'se"sa\\me\tA', "a@b": "//no comment", "c-d": "word", "e": "/*"},
        )
        self.assertEqual(sections["BookKeeper"].account(), ("bookkeeper", "sesame"))
        self.assertEqual(read_jaas(" // nothing"), {})

    def test_secrets(self) -> None:
        """No representation has a password."""
        self.assertNotIn("sesame", repr(read_jaas(_FILE)))

    def test_mistakes(self) -> None:
        """Each is refused with its line."""
        module = "A { x.Y required"
        for text, reason in (
            (f'{module} user_a="sesame', "line 1: a comment or a quoted text without its end"),
            (f'{module}\n user_a="ses\name";', "line 2: a comment or a quoted text without its end"),
            (f'{module} user_a="sesame\\', "line 1: a comment or a quoted text without its end"),
            ("\n/* sesame", "line 2: a comment or a quoted text without its end"),
            ("# sesame", "line 1: a comment or a quoted text without its end"),
            (f"{module} user_a='sesame';}};", "a character that needs quotation marks"),
            (f'{module} user_a="x" sesame; }};', "line 1: expected = after the name of an option"),
            (f'{module} user_a=; }};', "expected the value of an option"),
            (f'{module} ="sesame"; }};', "expected an option, or ;"),
            (f'{module} user_a="sesame" }};', "expected an option, or ;"),
            (f'{module} user_a="sesame"; ', "line 1: expected the class of a module"),
            (f'{module} user_a="sesame"; }}\nB', "line 2: expected ; after the } of a section"),
            ('A { x.Y sesame user_a="x"; };', "expected required, requisite, sufficient or optional"),
            ("A { x.Y", "expected required, requisite, sufficient or optional"),
            ("A sesame", "expected { after the name of a section"), ("{", "expected the name of a section"),
            ("\nA {};\nA {};", "line 3: section 'A' is there twice"),
            (f'{module} user_a="sesame" user_a="x"; }};', "an option is there twice in a module"),
            (f'{module} user_a="${{sesame}}"; }};', "an option has ${"),
        ):  # fmt: skip
            self.assertIn(reason, self.refused(text))

    @given(st.text(max_size=60) | st.lists(st.sampled_from(_PARTS)))
    def test_any_text(self, text: str | list[str]) -> None:
        """Any text is read or refused."""
        try:
            read_jaas(text if isinstance(text, str) else " ".join(text))
        except ConfigError as error:
            self.assertRegex(str(error), "^line [0-9]+: ")


class CredentialTests(SynchronousTestCase):
    """The users of a section."""

    def section(self, modules: str) -> JaasSection:
        return read_jaas(f"\nA {{ {modules} }};")["A"]

    def test_no_users(self) -> None:
        """A bookie's section has to have users, with names and passwords, each in one module."""
        for modules, reason in (
            ("", "section 'A' has no users"), ('x.Y required username="sesame";', "line 2: section 'A' has no users"),
            ('x.Y required user_="sesame";', "user '' has an empty name or password"),
            ('x.Y required user_b="";', "user 'b' has an empty name or password"),
            ('x.Y required user_b="sesame";\nx.Y required user_b="c";', "line 3: user 'b' is in two modules"),
        ):  # fmt: skip
            error = self.assertRaises(ConfigError, self.section(modules).passwords)
            self.assertIn(reason, str(error))
            self.assertNotIn("sesame", str(error))

    def test_no_account(self) -> None:
        """A client's section has to have a user and a password in one module."""
        for modules in (
            "", 'x.Y required username="b";', 'x.Y required username="b"; x.Y required password="sesame";',
            'x.Y required username="" password="sesame";', 'x.Y required username="b" password="";',
        ):  # fmt: skip
            error = self.assertRaises(ConfigError, self.section(modules).account)
            self.assertIn("has no module with the options username and password", str(error))

    def test_kerberos(self) -> None:
        """A section for Kerberos has neither users nor a password."""
        for modules in (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;", 'x.Y required principal="a/b@C";'
        ):
            for read in (self.section(modules).passwords, self.section(modules).account):
                error = self.assertRaises(ConfigError, read)
                self.assertIn("is for Kerberos (GSSAPI), and saslMechanism is another", str(error))

    def login(self, options: str, of_bookie: bool = False) -> KerberosLogin:
        """The login of a module for Kerberos."""
        module = f"x.Y required; com.sun.security.auth.module.Krb5LoginModule required {options};"
        return self.section(module).kerberos_login(of_bookie)

    def test_login(self) -> None:
        """Keys come before tickets; the name of a file may have a scheme."""
        self.assertEqual(
            self.login('useKeyTab=True keyTab="FILE:/a b" principal="a/b@C" useTicketCache=true', True),
            KerberosLogin("a/b@C", "/a b", ""),
        )
        for options, login in (
            ("useTicketCache=true", KerberosLogin("", "", "")),
            ('useTicketCache=true ticketCache="/t" principal=a useKeyTab=false', KerberosLogin("a", "", "/t")),
        ):
            self.assertEqual(self.login(options), login)
            with self.assertRaisesRegex(ConfigError, "line 2: a bookie needs the options useKeyTab=true"):
                self.login(options, True)

    def test_no_login(self) -> None:
        """A module without keys and tickets is refused, and so is a section without a module for Kerberos."""
        for options, reason in (
            ("", "a client needs the option useKeyTab=true or useTicketCache=true"),
            ("useKeyTab=true principal=a", "useKeyTab=true needs the options keyTab and principal"),
            ("useKeyTab=true keyTab=a", "useKeyTab=true needs the options keyTab and principal"),
        ):
            with self.assertRaisesRegex(ConfigError, f"line 2: {reason}"):
                self.login(options)
        with self.assertRaisesRegex(ConfigError, "section 'A' has no module Krb5LoginModule"):
            self.section("x.Y required;").kerberos_login(False)


def _all(text: str) -> None:
    for section in read_jaas(text).values():
        section.passwords()
