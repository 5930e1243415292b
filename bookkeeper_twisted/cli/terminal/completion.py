"""The completion of ``bookkeeper-twisted shell`` in bash: a script made from the tables of commands and options."""

from collections.abc import Iterable, Iterator, Mapping

from ..shell_command import Argument, Command

_SCRIPT = """\
# Completion of bookkeeper-twisted in bash, made by: bookkeeper-twisted shell completion bash
# To use it: source <(bookkeeper-twisted shell completion bash)

_bookkeeper_twisted() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" verb= index=2
    local flags= long= files= values= choices=
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=( $(compgen -W "shell token --help --version" -- "$current") )
        return
    fi
    [[ ${{COMP_WORDS[1]}} == shell ]] || return
    # bash makes words of ":" and "=", too: those of bookie ids and of --conf=FILE
    while (( index < COMP_CWORD )); do
        case "${{COMP_WORDS[index]}}" in
            {globals}) [[ ${{COMP_WORDS[index+1]}} == "=" ]] && (( index += 1 )); (( index += 2 )) ;;
            :) (( index += 2 )) ;;
            -*) (( index += 1 )) ;;
            *) verb="${{COMP_WORDS[index]}}"; break ;;
        esac
    done
    case "$verb" in
{cases}
    esac
    [[ $previous == "=" ]] && previous="${{COMP_WORDS[COMP_CWORD-2]}}"
    case "$verb $previous" in
{choices}
    esac
    if [[ -n $choices ]]; then
        COMPREPLY=( $(compgen -W "$choices" -- "$current") )
    elif [[ " $files " == *" $previous "* ]]; then
        local IFS=$'\\n'
        compopt -o filenames 2> /dev/null
        COMPREPLY=( $(compgen -f -- "$current") )
    elif [[ " $values " == *" $previous "* ]]; then
        return
    elif [[ $current == --* ]]; then
        COMPREPLY=( $(compgen -W "$long" -- "$current") )
    else
        COMPREPLY=( $(compgen -W "$flags" -- "$current") )
    fi
}}

complete -F _bookkeeper_twisted bookkeeper-twisted
"""


def bash_script(commands: Mapping[str, Command], options: Iterable[Argument]) -> str:
    """Return a script for bash that completes commands, options, values of options, and file names.

    :param commands: the commands by name.
    :param options: the options that may come before a command.
    """
    before = tuple(options)
    names = " ".join(sorted((*commands, "help", "completion")))
    cases = [_case('""', before, names), f'        help) flags="{names}" ;;', '        completion) flags="bash" ;;']
    cases += [_case(name, command.all_arguments, "") for name, command in sorted(commands.items())]
    choices = [line for name, command in sorted(commands.items()) for line in _choices(name, command.all_arguments)]
    return _SCRIPT.format(
        globals="|".join(spelling for option in before for spelling in option.spellings),
        cases="\n".join(cases), choices="\n".join([*_choices("", before), *choices]),
    )  # fmt: skip


def _case(name: str, arguments: Iterable[Argument], operands: str) -> str:
    """Return the branch of the script's ``case`` statement that sets the words which may follow a command.

    :param name: name of the command.
    :param operands: words that may follow the command and are not options.
    """
    options = [argument for argument in arguments if argument.is_option]
    with_value = [argument for argument in options if argument.kind is not bool]
    files = [spelling for a in with_value if a.kind == "file" for spelling in a.spellings]
    values = [spelling for a in with_value if a.kind != "file" for spelling in a.spellings]
    spellings = [spelling for argument in options for spelling in argument.spellings]
    flags = " ".join([spelling for spelling in spellings if not spelling.startswith("--")] + [operands])
    long = " ".join(spelling for spelling in spellings if spelling.startswith("--"))
    return (
        f'        {name}) flags="{flags.strip()}" long="{long}" files="{" ".join(files)}" '
        f'values="{" ".join(values)}" ;;'
    )  # fmt: skip


def _choices(name: str, arguments: Iterable[Argument]) -> Iterator[str]:
    for argument in arguments:
        if argument.choices:
            patterns = "|".join(f'"{name} {spelling}"' for spelling in argument.spellings)
            yield f'        {patterns}) choices="{" ".join(argument.choices)}" ;;'
