"""Replaces a small file; a crash leaves either the old or the new content, never a mixture."""

import posixpath
from contextlib import closing

from ..interfaces import IFileSystem


def replace_file(fs: IFileSystem, path: str, data: bytes) -> None:
    """Replace a file atomically and durably: write and sync a temporary file, then rename it.

    :raises OSError: a step failed; the file has its old content, or the new content, which is not durable yet.
    """
    beside = path + ".tmp"
    if fs.exists(beside):  # a crash has left the temporary file
        fs.unlink(beside)
    with closing(fs.open(beside, create=True)) as file:
        file.pwrite(data, 0)
        file.sync(metadata=True)
    fs.rename(beside, path)
    fs.sync_directory(posixpath.dirname(path))
