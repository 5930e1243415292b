"""Plants in the log: its lines as JSON, its levels, what is read again while a process runs, slow requests."""

from .plant import Plant

_JSON = "logs/json_lines.py"
_JSON_TESTS = ["tests.logs.test_json_lines"]

PLANTS = (
    Plant("a JSON line has the password of a field", _JSON, "_SECRET.search(name)", "False", _JSON_TESTS,
          where="_fields"),
    Plant("a JSON line has the token in a mapping", _JSON, "_SECRET.search(name)", "False", _JSON_TESTS,
          where="_members"),
    Plant("a JSON line has the credentials of a URI", _JSON, "without_credentials(_text(value))", "_text(value)",
          _JSON_TESTS, where="_plain"),
    Plant("an exception in a JSON line has credentials", _JSON, "without_credentials(_text(error))", "_text(error)",
          _JSON_TESTS, where="_exception"),
    Plant("an object without a text ends the log", _JSON, "except Exception as error: ...", "except KeyError: raise",
          _JSON_TESTS, where="_text"),
    Plant("logFormat=json has no effect", "cli/tap.py", "config.log_format == JSON", "False", ["tests.cli.test_tap"],
          where="begin_log.begin_wrapped"),
)  # fmt: skip
