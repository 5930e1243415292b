"""Cookies: a cookie in a directory contains the ids of the bookie and of the cluster to which the directory belongs.

The metadata store and the cookie file of every directory contain the same bytes: the layout version in decimal, LF, and
then protobuf text (versions 4 and 5) or three more lines (version 3).
"""

import attrs

from ...errors import CodecError, InvalidCookieError
from .._pb.dataformats_pb2 import CookieFormat
from .forms import codec_errors, decimal, parse_text, text_of

LAYOUT_VERSION = 5
_LINES_VERSION = 3


@attrs.frozen
class Cookie:
    """The cookie of one bookie: it identifies the bookie's directories and cluster.

    :ivar journal_dirs: the journal directories, joined with commas, as in the configuration.
    :ivar index_dirs: the index directories; None if none are configured, because the indexes are in the ledger
        directories.
    :ivar instance_id: the id of the cluster, None if the cluster has none.
    """

    bookie_id: str
    journal_dirs: str
    ledger_dirs: tuple[str, ...]
    index_dirs: tuple[str, ...] | None = None
    instance_id: str | None = None
    layout_version: int = LAYOUT_VERSION

    def encode(self) -> bytes:
        """Encode the text of a cookie file.

        :raises CodecError: the cookie has an old layout version, which this project reads but does not write; or the
            name of a directory cannot be stored.
        """
        with codec_errors("cookie"):
            if not _LINES_VERSION < self.layout_version <= LAYOUT_VERSION:
                raise CodecError(f"layout version {self.layout_version} is not written")
            message = CookieFormat(
                bookieHost=self.bookie_id,
                journalDir=self.journal_dirs,
                ledgerDirs=_join(self.ledger_dirs),
                instanceId=self.instance_id,
                indexDirs=None if self.index_dirs is None else _join(self.index_dirs),
            )
            return b"%d\n" % self.layout_version + text_of(message)

    @classmethod
    def parse(cls, data: bytes) -> "Cookie":
        """Decode the text of a cookie file.

        :raises CodecError: the bytes are not a cookie, or have a layout before version 3.
        """
        with codec_errors("cookie"):
            head, _, body = data.partition(b"\n")
            version = decimal(head.decode("ascii"), 32)
            if version == _LINES_VERSION:
                return cls._of_lines(body.decode("utf-8").removesuffix("\n").split("\n"))
            if not _LINES_VERSION < version <= LAYOUT_VERSION:
                raise CodecError(f"layout version {version} is not supported")
            message = parse_text(CookieFormat(), body)
            return cls(
                message.bookieHost,
                message.journalDir,
                _split(message.ledgerDirs),
                _split(message.indexDirs) if message.indexDirs else None,
                message.instanceId if message.HasField("instanceId") else None,
                version,
            )

    @classmethod
    def _of_lines(cls, lines: list[str]) -> "Cookie":
        if len(lines) != 3:
            raise CodecError(f"{len(lines) + 1} lines, not 4")
        return cls(lines[0], lines[1], _split(lines[2]), layout_version=_LINES_VERSION)

    @property
    def _pairs(self) -> set[tuple[str, str]]:
        """Return a pair for each ledger directory: the directory and its index directory.

        The two directories of a pair belong together: the index covers only the entry logs in this ledger directory.
        """
        return set(zip(self.ledger_dirs, self.index_dirs or self.ledger_dirs, strict=False))

    def verify(self, stored: "Cookie", allow_expansion: bool = False) -> None:
        """Check that a ``stored`` cookie agrees with this cookie, which was made from the configuration.

        :param stored: the other cookie.
        :param allow_expansion: whether this cookie may have more ledger directories than the stored one, and index
            directories that belong to them.
        :raises InvalidCookieError: the cookies differ; the text of the error says in which field.
        """
        _same("layout version", f">= {_LINES_VERSION}", stored.layout_version, stored.layout_version >= _LINES_VERSION)
        _same("bookie id", self.bookie_id, stored.bookie_id)
        _same("journal directories", self.journal_dirs, stored.journal_dirs)
        for name, ours, theirs in (
            ("ledger directories", self.ledger_dirs, stored.ledger_dirs),
            ("index directories", self.index_dirs or self.ledger_dirs, stored.index_dirs or stored.ledger_dirs),
        ):
            _same(name, ours, theirs, ours == theirs or (allow_expansion and set(ours) >= set(theirs)))
        _same("pairs of ledger and index directory", self._pairs, stored._pairs, self._pairs >= stored._pairs)
        _same("instance id", self.instance_id, stored.instance_id)


def _same(field: str, expected: object, found: object, same: bool | None = None) -> None:
    if not (expected == found if same is None else same):
        raise InvalidCookieError(f"cookie: {field} {found!r}, expected {expected!r}")


def _join(directories: tuple[str, ...]) -> str:
    """Return a list of directories in the form ``<count> TAB <directory> TAB <directory>...``."""
    if not directories or any("\t" in directory for directory in directories):
        raise CodecError(f"not a list of directories: {directories!r}")
    return "\t".join([str(len(directories)), *directories])


def _split(text: str) -> tuple[str, ...]:
    count, *directories = text.split("\t")
    if not directories or decimal(count, 32) != len(directories):
        raise CodecError(f"not a list of directories: {text[:200]!r}")
    return tuple(directories)
