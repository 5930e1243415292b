"""The program ``bookkeeper-twisted shell``: parses arguments, runs a command and returns its exit status.

Options before the command are: ``-conf FILE`` (by default the file that ``BOOKIE_CONF`` names), ``-localbookie ID``,
``-ledgeridformat hex|long|uuid`` and ``-entryformat hex|string``.  The file and the environment (``BK_<key>``) may set
keys of a bookie and of a client.  Commands use the metadata store that the keys of the bookie name.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

import attrs
from twisted.internet.defer import CancelledError

from ..bookie.lifecycle.identity import bookie_id
from ..config.bookie import BookieConfig
from ..config.client import ClientConfig
from ..config.fields import Setting, from_environment, from_file
from ..errors import BookKeeperError, ConfigError, IncorrectParameterError, NotInitializedError
from ..masking import without_credentials
from ..model import check_ledger_id
from .commands import COMMANDS
from .ending import OutputError
from .shell_command import (
    FAILED,
    INTERRUPTED,
    JSON,
    OK,
    REFUSED,
    UNREAD,
    Argument,
    Command,
    NotConfirmedError,
    OperandError,
    ShellContext,
    ShellWorld,
)
from .shell_text import FORMAT_ENTRY, FORMAT_ID, PARSE_ID, on_one_line
from .terminal.completion import bash_script

USAGE = (
    "Usage: bookkeeper-twisted shell [-localbookie <host:port>] [-ledgeridformat <hex/long/uuid>]"
    " [-entryformat <hex/string>] [-conf configuration] <command>"
)
_LOCAL_BOOKIE = Argument(("-localbookie",), "id of the bookie on this machine")
_OPTIONS = (
    Argument(("-conf",), "configuration file", "file"), _LOCAL_BOOKIE,
    Argument(("-ledgeridformat",), "format of ledger ids", choices=tuple(FORMAT_ID)),
    Argument(("-entryformat",), "format of entries", choices=tuple(FORMAT_ENTRY)),
)  # fmt: skip
"""The options that come before the command."""
_HELP = ("-h", "-help", "--help", "help")
_COMPLETION = "       completion bash  Print a script that completes commands and options in bash"


class UsageError(Exception):
    """The arguments of the shell cannot be parsed; the text says why."""


class _Parser(argparse.ArgumentParser):
    """A parser of arguments that raises UsageError instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


@attrs.frozen
class _Invocation:
    """The arguments of the shell, split: options before the command, name of the command, its arguments."""

    options: Mapping[str, str]
    command: str
    arguments: Sequence[str]


async def run_shell(arguments: Sequence[str], world: ShellWorld) -> int:
    """Run one command of the shell; print errors of the command and of its arguments in a line or two.

    If this coroutine is cancelled, the command ends and releases its locks.

    :param arguments: arguments of the command line after ``shell``.
    :param world: files, network and terminal for the command.
    :returns: the exit status.
    """
    try:
        invocation = _taken_apart(arguments)
        if invocation.command in _HELP:
            return _help(world, [name for name in invocation.arguments if name not in _HELP])
        if invocation.command == "completion":
            return _completion(world, invocation.arguments)
        command = COMMANDS.get(invocation.command)
        if command is None:
            raise UsageError(f"Unknown command {invocation.command}")
        if any(argument in ("--help", "-help") for argument in invocation.arguments):
            return _help(world, [command.name])
        context = _context(invocation.options, world)
    except BrokenPipeError:
        return UNREAD
    except OutputError as error:
        world.complain(str(error))
        return REFUSED
    except (UsageError, ConfigError) as error:
        world.complain(on_one_line(f"ERROR: {error}"))
        world.complain(USAGE)
        return FAILED
    try:
        options = _parser(command, _parse_id(invocation.options)).parse_args(list(invocation.arguments))
        if options.json and command.row is None:
            raise UsageError(f"{command.name} takes no -json: it lists nothing")
    except UsageError as error:
        world.complain(on_one_line(f"ERROR: {error}"))
        for text in _described(command):
            world.complain(text)
        return FAILED
    return await _run(command, context.chosen(options), options)


async def _run(command: Command, context: ShellContext, options: argparse.Namespace) -> int:
    try:
        return await command.run(context, options)
    except BrokenPipeError:
        return UNREAD  # the program that reads the output, such as head, has closed the pipe
    except OutputError as error:
        context.world.complain(f"{command.name}: {error}")
        return REFUSED
    except (CancelledError, KeyboardInterrupt):
        context.world.complain(f"{command.name}: interrupted")
        return INTERRUPTED
    except (BookKeeperError, OperandError, NotConfirmedError, OSError) as error:
        context.world.complain(on_one_line(f"{command.name}: {_text_of(error, context.config)}"))
        return FAILED


def _text_of(error: Exception, config: BookieConfig) -> str:
    """Return the text to print for an error; omit the error number of an OSError."""
    if isinstance(error, NotInitializedError) and config.origin("metadata_service_uri") == "default":
        default = without_credentials(config.metadata_service_uri)
        return (
            "no metadataServiceUri was given (-conf FILE or BK_metadataServiceUri), and the default, "
            f"{default}, holds no cluster"
        )
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _taken_apart(arguments: Sequence[str]) -> _Invocation:
    """Split the arguments of the shell into the options before the command, the command, and its arguments.

    :raises UsageError: an option is unknown or has no value, or there is no command.
    """
    index = _index_of_command(arguments)
    found = vars(_global_parser().parse_args(list(arguments[:index])))
    if index >= len(arguments):
        raise UsageError("no command; try help")
    options = {name: value for name, value in found.items() if value is not None}
    return _Invocation(options, arguments[index], arguments[index + 1 :])


def _index_of_command(arguments: Sequence[str]) -> int:
    """Return the index of the command: the first argument that is neither an option nor the value of an option.

    ``-localbookie`` without a value is allowed and has no effect.
    """
    index = 0
    while index < len(arguments) and arguments[index].startswith("-") and arguments[index] not in _HELP:
        option, following = arguments[index], arguments[index + 1 : index + 2]
        alone = option.lstrip("-") == "localbookie" and ":" not in "".join(following)
        index += 1 if alone or "=" in option else 2
    return index


def _global_parser() -> argparse.ArgumentParser:
    """Return the parser of the options that come before the command."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    for option in _OPTIONS:
        may_lack_value = "?" if option is _LOCAL_BOOKIE else None
        parser.add_argument(*option.spellings, nargs=may_lack_value, choices=option.choices or None)
    return parser


# ---- the context of a command ------------------------------------------------------------------------


def _context(options: Mapping[str, str], world: ShellWorld) -> ShellContext:
    """Make the context of a command from configuration file, environment and options.

    :raises ConfigError: the file cannot be read, or the value of a key is invalid.
    """
    sources = [list(_settings(options, world)), from_environment(world.environ)]
    config = BookieConfig.load(*sources)

    def local_bookie() -> str:
        if "localbookie" in options:
            return options["localbookie"]
        if config.bookie_id:
            return config.bookie_id
        return bookie_id(attrs.evolve(config, advertised_address=world.own_host(config)), "", config.bookie_port)

    return ShellContext(
        world, config, ClientConfig.load(*sources), local_bookie,
        FORMAT_ID[options.get("ledgeridformat", "long")], FORMAT_ENTRY[options.get("entryformat", "string")],
    )  # fmt: skip


def _settings(options: Mapping[str, str], world: ShellWorld) -> Iterator[Setting]:
    name = options.get("conf") or world.environ.get("BOOKIE_CONF")
    if not name:
        return
    try:
        text = world.files.read(name).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"option -conf: {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"option -conf: {name}: not a text file") from None
    yield from from_file(text, name)


def _parse_id(options: Mapping[str, str]) -> Callable[[str], int]:
    return PARSE_ID[options.get("ledgeridformat", "long")]


# ---- arguments of a command --------------------------------------------------------------------------


def _parser(command: Command, parse_id: Callable[[str], int]) -> argparse.ArgumentParser:
    def ledger_id(text: str) -> int:
        value = parse_id(text)
        try:
            return check_ledger_id(value)
        except IncorrectParameterError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    parser = _Parser(prog=command.name, add_help=False, allow_abbrev=False)
    # Each parser has -json, because argparse would parse it as -j with the value "son" for a command with option -j.
    parser.add_argument(*JSON.spellings, dest=_attribute(JSON), action="store_true")
    for argument in command.arguments:
        kind = {"ledger id": ledger_id, "any text": str, "file": _text, str: _text}.get(argument.kind, argument.kind)
        if not argument.is_option:
            parser.add_argument(argument.names[0], nargs="?", type=kind)  # type: ignore[arg-type]
        elif argument.kind is bool:
            parser.add_argument(*argument.spellings, dest=_attribute(argument), action="store_true")
        else:
            parser.add_argument(
                *argument.spellings, dest=_attribute(argument), type=kind,  # type: ignore[arg-type]
                default=argument.default, required=argument.required, choices=argument.choices or None,
            )  # fmt: skip
    return parser


def _text(value: str) -> str:
    """Return the value of an option; raise ArgumentTypeError if it is empty.

    A script that uses an unset variable passes an empty value.  Without this check, the command would run as if the
    option were missing.
    """
    if not value:
        raise argparse.ArgumentTypeError("expected a value that is not empty")
    return value


def _attribute(argument: Argument) -> str:
    return argument.names[-1].lstrip("-").replace("-", "_")


# ---- help --------------------------------------------------------------------------------------------


def _help(world: ShellWorld, names: Sequence[str]) -> int:
    if not names:
        world.out(USAGE)
        world.out("where command is one of:")
    for name in names or sorted(COMMANDS):
        if name not in COMMANDS:
            raise UsageError(f"Unknown command {name}")
        for text in _described(COMMANDS[name]):
            world.out(text)
    if not names:
        world.out(_COMPLETION)
    return OK


def _completion(world: ShellWorld, arguments: Sequence[str]) -> int:
    """Print a script for bash that completes the commands and options of ``bookkeeper-twisted shell``."""
    if any(argument in _HELP[:-1] for argument in arguments):
        world.out(_COMPLETION)
        return OK
    if list(arguments) != ["bash"]:
        raise UsageError("completion is made for bash: completion bash")
    for text in bash_script(COMMANDS, _OPTIONS).splitlines():
        world.out(text)
    return OK


def _described(command: Command) -> Iterator[str]:
    yield f"       {command.name:16} {command.help}"
    arguments = command.all_arguments
    operands = "".join(f" [{a.names[0]}]" for a in arguments if not a.is_option)
    yield f"             Usage: {command.name}{' [options]' if arguments else ''}{operands}"
    for argument in arguments:
        if argument.is_option:
            spelled = ", ".join(argument.spellings[: len(argument.names)])
            value = "" if argument.kind is bool else f" <{_attribute(argument)}>"
            yield f"               {spelled}{value}"
        else:
            yield f"               {argument.names[0]}"
        yield f"              {argument.help}"
