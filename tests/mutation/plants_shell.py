"""Defects of the shell: what goes to its output, what it asks, what it shows."""

from .plant import Plant

_JSON = ["tests.cli.commands.test_json"]
_ROWS = ["tests.cli.test_shell_rows"]

PLANTS = (
    Plant(
        "an entry that a bookie lacks is left out without a word", "cli/commands/ledgers.py",
        "self._lacks(entry_id)", "pass", ["tests.cli.commands.test_ledgers"], where="_ReplicaReading.entries",
    ),
    Plant(
        "a lack of entries on a bookie is a success", "cli/commands/ledgers.py",
        "self._missing or (asked and not self._found)", "asked and not self._found",
        ["tests.cli.commands.test_ledgers"], where="_ReplicaReading.end",
    ),
    Plant(
        "a recovery without a bookie to copy to does not say what helps", "cli/commands/recovery.py",
        "issubclass(cause, kind)", "kind is BookKeeperError", ["tests.cli.commands.test_recovery"],
        where="_BookiesCommand._ended",
    ),
    Plant(
        "a bookie that ledgers still name is emptied without a word", "cli/commands/directories.py",
        "if count: ...", "pass", ["tests.cli.commands.test_directories"], where="_count_ledgers",
    ),
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
        "half a line answers a question", "cli/terminal/questions.py",
        'answer.endswith("\\n")', "answer",
        ["tests.cli.terminal.test_questions"], where="_answer",
    ),
    Plant(
        "a question is asked after a signal", "cli/terminal/questions.py",
        "if of_reactor is signal.SIG_DFL: ...", "pass",
        ["tests.cli.terminal.test_questions"], where="ask",
    ),
    Plant(
        "a question makes Ctrl-C end what nohup runs", "cli/terminal/questions.py",
        "of_reactor is not signal.SIG_IGN", "True",
        ["tests.cli.terminal.test_questions"], where="ask",
    ),
    Plant(
        "a signal that the parent ignores ends a command", "cli/main.py",
        "signal.getsignal(number) is not signal.SIG_IGN", "True",
        ["tests.cli.test_main"], where="begin",
    ),
    Plant(
        "a signal in the start of the reactor is lost", "cli/main.py",
        "signal.pthread_sigmask(signal.SIG_BLOCK, numbers)", "pass",
        ["tests.cli.test_main"], where="begin",
    ),
    Plant(
        "a command begins after a signal", "cli/main.py",
        "if not told: await work", "await work",
        ["tests.cli.test_main"], where="begin.heeding",
    ),
    Plant(
        "an interrupted command has its own status", "cli/main.py",
        "if told: raise SystemExit(INTERRUPTED)", "pass",
        ["tests.cli.test_main"], where="begin.heeding",
    ),
    Plant(
        "Ctrl-C while the program is imported prints a stack trace", "cli/entry.py",
        "signal.signal(signal.SIGINT, signal.SIG_DFL)", "pass",
        ["tests.cli.test_entry"], where="main",
    ),
    Plant(
        "an output that cannot be written fails again at the end", "cli/ending.py",
        "os.dup2(nowhere, stream.fileno())", "pass",
        ["tests.cli.test_entry"], where="written",
    ),
    Plant(
        "a closed output is a success", "cli/terminal/progress.py",
        'raise OutputError("it is closed")', "return",
        ["tests.cli.terminal.test_progress"], where="LinesAndProgress.out",
    ),
    Plant(
        "SIGQUIT leaves the terminal as a screen", "cli/terminal/screen.py",
        "self._leave()", "pass",
        ["tests.cli.terminal.test_screen"], where="TerminalScreen._quit",
    ),
    Plant(
        "whatisinstanceid makes a store", "client/admin.py",
        "attrs.evolve(options_of(config), create=create)", "attrs.evolve(options_of(config), create=True)",
        ["tests.integration.test_shell"], where="cluster_admin",
    ),
    Plant(
        "verbs of a cluster reach the store without the keys", "cli/shell_command.py",
        "cluster_admin(self.world.reactor, self.config.metadata_service_uri, self.config, create)",
        "cluster_admin(self.world.reactor, self.config.metadata_service_uri, ClientConfig(), create)",
        ["tests.cli.commands.test_clusters"], where="ShellContext.cluster_admin",
    ),
    Plant(
        "a file without an end fills the memory of a verb", "cli/main.py",
        "file.read(_LONGEST_FILE + 1)", "file.read(2 * _LONGEST_FILE)[:_LONGEST_FILE]",
        ["tests.cli.test_main"], where="DiskFiles.read",
    ),
    Plant(
        "custom metadata control the terminal of who lists them", "cli/shell_text.py",
        """printable("LedgerMetadata" + _braces(f"{name}={value}" for name, value in fields.items()))""",
        """"LedgerMetadata" + _braces(f"{name}={value}" for name, value in fields.items())""",
        ["tests.cli.test_shell_text"], where="metadata_text",
    ),
    Plant(
        "a verb that is forced asks all the same", "cli/shell_command.py",
        "forced or self.world.ask(question)", "self.world.ask(question)", ["tests.cli.commands.test_dangerous"],
        where="ShellContext.confirmed",
    ),
    Plant(
        "an error that repeats what was typed is several lines", "cli/shell_text.py",
        "text.isprintable()", "True", ["tests.cli.test_bad_input"], where="printable",
    ),
    Plant(
        "the reason of a refused start is several lines", "cli/process/bookies.py",
        "on_one_line(failure.getErrorMessage())", "failure.getErrorMessage()", ["tests.cli.process.test_bookies"],
        where="Bookies._report",
    ),
    Plant(
        "rates of a bookie that was restarted are negative", "cli/top/load.py",
        "old is None or new is None or new < old", "old is None or new is None", ["tests.cli.top.test_table"],
        where="_rate",
    ),
    Plant(
        "a bookie that does not answer holds the table up", "cli/top/watch.py",
        "Deferred.fromCoroutine(self._asked(bookie_id, read_only)).addTimeout(self._patience, clock)",
        "Deferred.fromCoroutine(self._asked(bookie_id, read_only))",
        ["tests.cli.top.test_command"], where="ClusterWatch._observed",
    ),
    Plant(
        "q waits for bookies that do not answer", "cli/top/command.py",
        "self._round.cancel()", "pass", ["tests.cli.top.test_command"], where="LiveTable._key_pressed",
    ),
    Plant(
        "a terminal keeps the settings of the screen", "cli/terminal/screen.py",
        "termios.tcsetattr(self._keys, termios.TCSADRAIN, self._settings)", "pass",
        ["tests.cli.terminal.test_screen"], where="TerminalScreen._leave",
    ),
    Plant(
        "completion in bash takes the end of a bookie id for the verb", "cli/terminal/completion.py",
        "_SCRIPT.format", "_SCRIPT.replace(':) ((', '@) ((').format", ["tests.cli.terminal.test_completion"],
        where="bash_script",
    ),
    Plant(
        "a line begins inside a progress bar", "cli/terminal/progress.py",
        "self._bar.clear()", "pass", ["tests.cli.terminal.test_progress"], where="LinesAndProgress._print",
    ),
    Plant(
        "progress is shown in a file", "cli/terminal/progress.py",
        "sys.stderr is None or not (forced or is_terminal)", "False", ["tests.cli.terminal.test_progress"],
        where="LinesAndProgress.progress",
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
