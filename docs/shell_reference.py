"""Writes the list of the verbs of the shell, with their arguments, from the commands themselves."""

from collections.abc import Iterator
from pathlib import Path

from bookkeeper_twisted.cli.commands import COMMANDS
from bookkeeper_twisted.cli.shell_command import FORCE, JSON, PROGRESS, Argument, Command


def write_reference(path: Path) -> None:
    """Write a definition for each verb."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(line for name in sorted(COMMANDS, key=str.lower) for line in _entry(COMMANDS[name])))


def _entry(command: Command) -> Iterator[str]:
    """Yield the lines about a verb: what it does, its arguments, and the marks that several verbs share."""
    heading = f"``{command.name}``"
    yield from ("", heading, "-" * len(heading), "", f"{command.help}.".replace("*", "\\*"), "")
    marks = {"asks": FORCE in command.arguments, "shows rows, also as JSON": command.row is not None}
    marks["shows progress"] = PROGRESS in command.arguments
    for argument in command.arguments:
        if argument not in (JSON, FORCE, PROGRESS):
            yield from _argument(argument)
    if found := [mark for mark, is_so in marks.items() if is_so]:
        yield f"*{', '.join(found)}*"
        yield ""


def _argument(argument: Argument) -> Iterator[str]:
    names = argument.names if not argument.is_option else [f"-{name.lstrip('-')}" for name in argument.names]
    yield ", ".join(f"``{name}``" for name in names)
    facts = ["required"] if argument.required else []
    if argument.choices:
        facts.append("one of " + ", ".join(f"``{choice}``" for choice in argument.choices))
    after = f" ({'; '.join(facts)})" if facts else ""
    yield f"   {argument.help[0].upper()}{argument.help[1:]}{after}."
    yield ""
