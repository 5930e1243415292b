"""Defects of the shell: what goes to its output, what it asks, what it shows."""

from .plant import Plant

_JSON = ["tests.cli.commands.test_json"]
_ROWS = ["tests.cli.test_shell_rows"]

PLANTS = (
    Plant(
        "JSON has captions of the text between its lines", "cli/shell_command.py",
        "if not self.json:\n    self.world.out(text)", "self.world.out(text)", _JSON, where="ShellContext.caption",
    ),
    Plant(
        "a message is among the lines of JSON", "cli/shell_command.py",
        "self.world.complain if self.json else self.world.out", "self.world.out", _JSON, where="ShellContext.out",
    ),
    Plant(
        "a verb without rows takes the option for JSON", "cli/shell.py",
        "options.json and command.row is None", "False", _JSON, where="run_shell",
    ),
    Plant(
        "a use of a verb without rows takes the option for JSON", "cli/shell_command.py",
        "if self.json: ...", "pass", _JSON, where="ShellContext.refuse_json",
    ),
    Plant(
        "what is piped into a verb answers its question", "cli/terminal/questions.py",
        "sys.stdin is None or not sys.stdin.isatty()", "sys.stdin is None", ["tests.cli.terminal.test_questions"],
        where="ask",
    ),
    Plant(
        "a verb that is forced asks all the same", "cli/shell_command.py",
        "forced or self.world.ask(question)", "self.world.ask(question)", ["tests.cli.commands.test_dangerous"],
        where="ShellContext.confirmed",
    ),
    Plant(
        "an error that repeats what was typed is several lines", "cli/shell.py",
        "text.isprintable()", "True", ["tests.cli.test_bad_input"], where="_on_one_line",
    ),
    Plant(
        "a number that JSON does not have is in it", "cli/shell_rows.py",
        "isinstance(value, float) and not isfinite(value)", "False", _ROWS, where="_json_value",
    ),
    Plant(
        "the members of metadata depend on the ledger", "cli/shell_text.py",
        "metadata.length if closed else None", "metadata.length", _ROWS, where="metadata_fields",
    ),
)
