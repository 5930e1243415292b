"""The command ``bookkeeper-twisted token``: makes keys and tokens, and verifies tokens.

Secrets are read from files or the standard input, never from the command line, which every user of the machine can
read.  Only the owner can read the files that this command makes.
"""

import os
import re
import secrets
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from ..config.authentication import AuthenticationConfig
from ..errors import ConfigError, UnauthorizedAccessError
from ..security.token_keys import SECRET_ALGORITHM, TokenKey, read_secrets
from ..security.tokens import MAX_SIZE, VerifiedToken, sign_token, token_verifier
from .shell_command import FAILED, OK, REFUSED
from .shell_text import line

_EXAMPLES = """\
A key, a token for joe, and a look at it:
  bookkeeper-twisted token key --key-file token.keys
  bookkeeper-twisted token create --key-file token.keys --subject joe --lifetime 30d --output joe.token
  bookkeeper-twisted token show --key-file token.keys joe.token
"""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LIFETIME = re.compile("([0-9]{1,9})([smhd])")
_PRIVATE = 0o600


@attrs.frozen
class TokenWorld:
    """The terminal, the clock and the random numbers of the command.

    :ivar out: prints a line.
    :ivar complain: prints a line to the error output.
    :ivar read_input: returns the text of the standard input, at most a given number of characters.
    :ivar seconds: a clock of seconds since 1970.
    :ivar new_secret: returns a text that nobody can guess.
    """

    out: Callable[[str], None] = print
    complain: Callable[[str], None] = lambda text: print(text, file=sys.stderr)
    read_input: Callable[[int], str] = lambda size: sys.stdin.read(size)
    seconds: Callable[[], float] = time.time
    new_secret: Callable[[], str] = lambda: secrets.token_urlsafe(32)


def run_tokens(arguments: Sequence[str], world: TokenWorld | None = None) -> int:
    """Run a command that creates or verifies tokens; return its exit status.

    :param arguments: the arguments of the command line after ``token``.
    :param world: the terminal, clock and random numbers of a test; None for those of this process.
    :raises SystemExit: the arguments are invalid, or ask for help.
    """
    options = _parser().parse_args(arguments)
    world = world or TokenWorld()
    try:
        return int(options.run(world, options))
    except UnauthorizedAccessError as error:
        world.complain(error.detail)
        return REFUSED
    except ConfigError as error:
        world.complain(str(error))
    except OSError as error:
        world.complain(f"{error.filename}: {error.strerror}")
    return FAILED


def _make_key(world: TokenWorld, options: Namespace) -> int:
    """Append a new key to the file of keys; make the file if it does not exist."""
    path = Path(options.key_file)
    known = [key.key_id for key in read_secrets(str(path))] if path.exists() else []
    key_id = options.key_id or _next_id(known, world.seconds())
    if key_id in known:
        raise ConfigError(f"{path} has a key {key_id!r} already")
    text = f"{key_id} {world.new_secret()}\n"
    if known and not path.read_bytes().endswith(b"\n"):
        text = "\n" + text
    # the owner and the permissions of an existing file stay as they are
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    read_secrets(str(path))
    world.out(line("Made a key", keyId=key_id, file=path, keys=len(known) + 1))
    return OK


def _next_id(known: Sequence[str], now: float) -> str:
    """Return the id of a new key: the present day, followed by a number if a key has this id already."""
    day = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
    return next(each for each in (day, *(f"{day}.{n}" for n in range(2, 10_000))) if each not in known)


def _make_token(world: TokenWorld, options: Namespace) -> int:
    """Make a signed token, then print it or write it to a file."""
    key = _signing_key(options.key_file, options.key_id)
    now = int(world.seconds())
    claims: dict[str, Any] = {"sub": options.subject, "nbf": now, "exp": now + options.lifetime}
    if options.roles:
        claims["roles"] = options.roles
    if options.audience:
        claims["aud"] = options.audience
    token = sign_token(key, claims)
    config = AuthenticationConfig(token_key_file=options.key_file, token_audience=options.audience)
    _read(config, token, world)  # raises an error if bookies would refuse the token
    if options.output is None:
        world.out(token)
    else:
        _write_private(Path(options.output), f"{token}\n")
        world.out(line("Made a token", subject=options.subject, expires=_moment(now + options.lifetime)))
    return OK


def _signing_key(path: str, key_id: str | None) -> TokenKey:
    keys = read_secrets(path)
    for key in keys:
        if key_id in (None, key.key_id):
            return key
    raise ConfigError(f"{path} has no key {key_id!r}; it has {', '.join(key.key_id for key in keys)}")


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read; replace an existing file in one step."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _show_token(world: TokenWorld, options: Namespace) -> int:
    """Verify a token as a bookie does, then print its contents."""
    config = AuthenticationConfig(
        token_key_file=options.key_file or "", token_public_keys=tuple(options.public_key or ()),
        token_issuer=options.issuer, token_audience=options.audience, token_roles_claim=options.roles_claim,
    )  # fmt: skip
    if options.token == "-":
        text = world.read_input(MAX_SIZE + 2)
    else:
        with open(options.token, encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_SIZE + 2)
    found = _read(config, text.strip(), world)
    own = found.key.algorithm == SECRET_ALGORITHM
    fields = {"subject": found.principal.name, "roles": ",".join(found.principal.roles), "key": found.key.key_id}
    fields |= {"begins": _moment(found.begins) if found.begins else "", "expires": _moment(found.expires)}
    fields |= {"issuer": "" if own else options.issuer, "algorithm": found.key.algorithm}
    world.out(line("The token is good", **{name: value for name, value in fields.items() if value}))
    return OK


def _read(config: AuthenticationConfig, token: str, world: TokenWorld) -> VerifiedToken:
    verifier = token_verifier(config, world.seconds)
    if verifier is None:
        raise ConfigError("--key-file or --public-key has to be given: without a key no token can be verified")
    return verifier.read(token)


def _moment(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):  # the time is after the year 9999
        return f"{seconds:.0f} s"


def _lifetime(text: str) -> int:
    """Return the number of seconds that a text such as ``30d`` stands for."""
    found = _LIFETIME.fullmatch(text)
    if found is None or not int(found[1]):
        raise ArgumentTypeError(f"{text!r} is no time such as 30d, 12h, 90m or 3600s")
    return int(found[1]) * _UNITS[found[2]]


def _names(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="bookkeeper-twisted token", description="Makes and verifies the tokens by which clients authenticate.",
        epilog=_EXAMPLES, formatter_class=RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[TokenWorld, Namespace], int], help: str) -> ArgumentParser:
        found = commands.add_parser(name, help=help, description=help, allow_abbrev=False)
        found.set_defaults(run=run)
        return found

    key = command("key", _make_key, "Append a new key to a file of keys (tokenKeyFile): the first key signs.")
    key.add_argument("--key-file", required=True, help="the file; made for its owner alone if there is none")
    key.add_argument("--key-id", help="the name of the key; by default the day")

    create = command("create", _make_token, "Make a token; print it, or put it into a file for its owner alone.")
    create.add_argument("--key-file", required=True, help="the file of keys")
    create.add_argument("--key-id", help="the key that signs; by default the first of the file")
    create.add_argument("--subject", required=True, help="whom the token names")
    create.add_argument("--lifetime", required=True, type=_lifetime, help="how long it is valid: 30d, 12h, 90m, 3600s")
    create.add_argument("--roles", type=_names, default=[], help="roles of the subject, with commas")
    create.add_argument("--audience", default="", help="the only cluster that takes the token (its tokenAudience)")
    create.add_argument("--output", help="the file; an old one is replaced at once")

    show = command("show", _show_token, "Verify a token as a bookie does, and print what it says; status 1: refused.")
    show.add_argument("token", help="the file with the token; -: the standard input")
    show.add_argument("--key-file", help="the file of keys (tokenKeyFile)")
    show.add_argument("--public-key", action="append", help="a file of tokenPublicKeys; may be given several times")
    show.add_argument("--issuer", default="", help="as tokenIssuer")
    show.add_argument("--audience", default="", help="as tokenAudience")
    show.add_argument("--roles-claim", default="roles", help="as tokenRolesClaim")
    return parser
