"""Functions that read, in ``/proc``, which reserved disk blocks a process may use, and on which disk a file is."""

import os
import re

_SYS_RESOURCE = 24  # the number of the capability CAP_SYS_RESOURCE


def takes_reserved_blocks(status: bytes) -> bool:
    """Test whether a process may use the disk blocks that file systems reserve for privileged processes.

    It may use them if it runs as root, or if it has the capability CAP_SYS_RESOURCE.

    :param status: the content of ``/proc/self/status`` of the process.
    """
    if re.search(rb"^Uid:(\s+\d+){3}\s+0$", status, re.M):  # the fourth user id is the one for access to files
        return True
    effective = re.search(rb"^CapEff:\s*([0-9a-f]+)$", status, re.M)
    return effective is not None and bool(int(effective[1], 16) >> _SYS_RESOURCE & 1)


def mounted_device(opened: bytes, mounts: bytes) -> int | None:
    """Return the number of the mounted device that an open file is on, or None if ``mounts`` does not list it.

    :param opened: the content of ``/proc/self/fdinfo/<descriptor>`` of the file.
    :param mounts: the content of ``/proc/self/mountinfo``, which lists the id and the device of each mount.
    """
    mount = re.search(rb"^mnt_id:\s*(\d+)$", opened, re.M)
    found = mount and re.search(rb"^%b \d+ (\d+):(\d+) " % mount[1], mounts, re.M)
    return os.makedev(int(found[1]), int(found[2])) if found else None


def content_of(path: str) -> bytes:
    """Return the content of the file ``path``; return no bytes if it cannot be read."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC), "rb") as file:
            return file.read()
    except OSError:
        return b""
