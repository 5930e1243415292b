"""A realm of Kerberos for tests: MIT's KDC, on loopback, in a folder of its own.

Its programs are those of the system, or else those in the folder that ``KERBEROS_ROOT`` names, with the folders of
Debian's packages below it.  If there are none, ``apt-get`` fetches the packages once into a cache folder, for which it
needs no ``root``.  The same goes for the package ``gssapi``.  Where they cannot be had, the tests are skipped.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import deque
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from twisted.trial.unittest import SkipTest

from benchmarks.shared.zookeeper import free_port

from ..debian import CACHE, unpack

REALM = "EXAMPLE.TEST"
SERVICE, WRITER, STRANGER = "bookkeeper/{}", "bookkeeper-writer", "stranger"
"""Principals: of bookies on a host, of a client that they let in, and of one that they do not."""

HOSTS = ("127.0.0.1", "localhost")

_CACHE = CACHE / "kerberos"
_SYSTEM = Path("/")
_KDC, _GSSAPI = ("krb5-kdc", "krb5-admin-server", "krb5-user"), ("python3-gssapi", "python3-decorator")
_HINT = (
    "no Kerberos: apt-get install krb5-kdc krb5-admin-server krb5-user, and python3-gssapi or pip install "
    "'bookkeeper-twisted[kerberos]'"
)
_KRB5 = """\
[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 udp_preference_limit = 1
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
"""
_KDC_CONF = """\
[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {folder}/principal
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
 }}
[logging]
 kdc = STDERR
[dbmodules]
 db_module_dir = {modules}
"""


class Realm:
    """A running KDC.

    :ivar config: the ``krb5.conf`` of its clients.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.config = folder / "krb5.conf"
        self._root = root
        self._folder = folder
        (library,) = {path.parent for path in (root / "usr/lib").glob("*/libkdb5.so.*")}
        modules = library / "krb5/plugins/kdb"
        values = {"realm": REALM, "port": free_port(), "folder": folder, "modules": modules}
        self.config.write_text(_KRB5.format(**values))
        kdc = folder / "kdc.conf"
        kdc.write_text(_KDC_CONF.format(**values))
        self._variables = {**os.environ, "KRB5_CONFIG": str(self.config), "KRB5_KDC_PROFILE": str(kdc)}
        if root != _SYSTEM:
            self._variables["LD_LIBRARY_PATH"] = str(library)
        self._run("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
        for name in (*map(SERVICE.format, HOSTS), WRITER, STRANGER):
            self._run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {name}")
            self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {self.key_tab(name)} {name}")
        command = [str(root / "usr/sbin/krb5kdc"), "-n"]
        self._kdc = subprocess.Popen(command, env=self._variables, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert self._kdc.stderr is not None
        lines = self._kdc.stderr
        if not any(b"commencing operation" in line for line in lines):
            raise AssertionError("the KDC does not start")
        # it must not wait for somebody who reads its log
        self._reader = threading.Thread(target=deque, args=(lines, 0), daemon=True)
        self._reader.start()

    def key_tab(self, name: str) -> Path:
        """The file with the keys of a principal."""
        return self._folder / f"{name.replace('/', '-')}.keytab"

    def other_keys(self, name: str) -> Path:
        """A file with keys of a principal that the KDC does not have."""
        path = self.key_tab(f"other-{name}")
        lines = f"addent -password -p {name}@{REALM} -k 2 -e aes256-cts-hmac-sha1-96\nguess\nwkt {path}\n"
        self._run("../bin/ktutil", given=lines)
        return path

    def tickets(self, name: str) -> Path:
        """A new cache of tickets of a principal."""
        cache = self._folder / f"{name}.tickets"
        self._run("../bin/kinit", "-c", str(cache), "-k", "-t", str(self.key_tab(name)), name)
        return cache

    def stop(self) -> None:
        """Ends the KDC."""
        self._kdc.kill()
        self._reader.join()
        self._kdc.communicate()

    def _run(self, program: str, *arguments: str, given: str = "") -> None:
        command = [str(self._root / "usr/sbin" / program), *arguments]
        done = subprocess.run(command, env=self._variables, input=given.encode(), capture_output=True, timeout=60)
        if done.returncode:
            raise AssertionError(f"{program} {arguments}: {done.stderr.decode()}")


@lru_cache(maxsize=1)
def shared_realm() -> Realm:
    """The running KDC of this test run, which ends with the process; this process is set up to use it.

    :raises SkipTest: it cannot be had.
    """
    root = _root_of_programs()
    _need_gssapi()
    folder = Path(tempfile.mkdtemp(prefix="bookkeeper-twisted-kerberos-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    realm = Realm(root, folder)
    atexit.register(realm.stop)
    os.environ["KRB5_CONFIG"] = str(realm.config)
    os.environ["KRB5RCACHENAME"] = f"file2:{folder / 'replays'}"
    os.environ["KRB5CCNAME"] = f"FILE:{folder / 'tickets'}"
    return realm


def jaas(realm: Realm, host: str = HOSTS[0]) -> str:
    """A JAAS file with the logins of bookies and clients, as Java's processes take it."""
    login = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true doNotPrompt=true"
    names = {"Bookie": SERVICE.format(host), "BookKeeper": WRITER, "Auditor": WRITER, "Stranger": STRANGER}
    return "\n".join(
        f'{section} {{ {login} keyTab="{realm.key_tab(name)}" principal="{name}@{REALM}"; }};'
        for section, name in names.items()
    )


def _root_of_programs() -> Path:
    given = os.environ.get("KERBEROS_ROOT")
    for root in [Path(given)] if given else [_SYSTEM, _CACHE]:
        if (root / "usr/sbin/krb5kdc").exists() and (root / "usr/bin/kinit").exists():
            return root
    if not given:
        unpack(_dependencies(), _CACHE, "usr/bin/kinit", _HINT)
        return _CACHE
    raise SkipTest(f"no usr/sbin/krb5kdc and no usr/bin/kinit in {given}")


def _need_gssapi() -> None:
    try:
        import_module("gssapi")
        return
    except ImportError:
        root = Path(os.environ.get("KERBEROS_ROOT") or _CACHE)
    packages = root / "usr/lib/python3/dist-packages"
    if root == _CACHE and not packages.exists():
        unpack(_GSSAPI, _CACHE, "usr/lib/python3/dist-packages/gssapi", _HINT)
    sys.path.append(str(packages))
    try:
        import_module("gssapi")
    except ImportError:
        sys.path.remove(str(packages))
        raise SkipTest(_HINT) from None
    # for processes that this one starts
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(packages))))


def _dependencies() -> list[str]:
    """The packages that the system lacks for a KDC; none if apt-get does not say."""
    try:
        command = ["apt-get", "--simulate", "--no-install-recommends", "install", *_KDC]
        told = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line.split()[1] for line in told.splitlines() if line.startswith("Inst ")]
