"""The rules of the architecture, each a function from a source tree to the sentences that say where it is broken.

A tree maps paths below the root of the repository to source text, so that a rule can be tried on a
made-up one.  The import table is the whole design in one screen: a package may import what its row
names and nothing else of ours; the standard library is free except for the modules that reach out
into the world, which only the production adapters may import.  Inside packages no imports form a circle, neither
of modules nor of what a package directly consists of.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

Tree = Mapping[str, str]
Circles = frozenset[frozenset[str]]
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

PACKAGE = "bookkeeper_twisted"
MAX_MODULE_LINES = 500
MAX_FUNCTION_LINES = 50
MAX_ROOM_MODULES = 15

LAYER_0 = frozenset(
    {"arguments", "config", "crc32c", "entries", "errors", "instruments", "limits", "logs", "masking", "metrics"}
    | {"model", "python_logging", "shared_result", "sqlite_files", "tracing"}
)

_DOORS_OURS = (
    LAYER_0
    | {"security", "codec", "ledger", "storage", "metadata", "placement", "protocol", "authentication"}
    | {"authorization"}
    | {"bookie", "client", "autorecovery"}
)

# What a package, or a module of its own row, may import of ours.
OURS: dict[str, frozenset[str]] = {
    **dict.fromkeys(LAYER_0, LAYER_0),
    "security": LAYER_0 | {"security"},
    "codec": LAYER_0 | {"codec"},
    "ledger": LAYER_0 | {"ledger", "codec"},
    "storage": LAYER_0 | {"storage"},
    "metadata": LAYER_0 | {"metadata", "codec.metadata_formats", "security"},
    "placement": LAYER_0 | {"placement", "ledger", "metadata"},
    "protocol": LAYER_0 | {"protocol", "codec", "security"},
    "authentication": LAYER_0 | {"authentication", "security", "protocol"},
    "authorization": LAYER_0 | {"authorization", "security"},
    "bookie": LAYER_0
    | {"bookie", "authentication", "authorization", "security", "codec", "storage", "metadata", "protocol"},
    # of protocol and security: the client's side of TLS and of authentication
    "blocking_reads": LAYER_0 | {"blocking_reads", "codec", "ledger", "protocol", "security"},
    "client": LAYER_0
    | {"client", "authentication", "security", "codec", "ledger", "metadata", "placement", "protocol"},
    "autorecovery": LAYER_0 | {"autorecovery", "codec", "ledger", "metadata", "placement", "client"},
    # of storage: what entry log files look like, for work on the files of many bookies; of cli: the end of a process,
    # and requests to HTTP servers of bookies
    "spark": LAYER_0
    | {"spark", "codec", "ledger", "blocking_reads", "metadata", "client", "authentication", "security", "__version__"}
    | {"blocking.reactor_thread", "storage.entry_log", "storage.files.filesystem", "storage.ledger_dirs", "cli.ending"}
    | {"cli.http_requests"},
    "http": _DOORS_OURS | {"http"},
    "embedding": _DOORS_OURS | {"http", "embedding", "blocking"},
    "cli": _DOORS_OURS | {"http", "embedding", "cli", "__version__"},
    "testing": _DOORS_OURS | {"http", "testing", "aio", "blocking"},
    "aio": LAYER_0 | {"aio", "client", "ledger", "placement"},
    "blocking": LAYER_0 | {"blocking", "client", "ledger", "placement"},
    "__main__": frozenset({"cli"}),
    "_public": _DOORS_OURS | {"embedding"},
    "": frozenset({"_public"}),
}

# What they may import of others.
_BASE = frozenset({"attr", "attrs", "zope"})
_TWISTED = _BASE | {"twisted"}
OUTSIDE: dict[str, frozenset[str]] = {
    **dict.fromkeys(LAYER_0, _BASE),
    "instruments": _BASE | {"prometheus_client"},
    "metrics": _BASE | {"prometheus_client"},
    "crc32c": _BASE | {"crc32c", "google_crc32c"},
    **dict.fromkeys(("limits", "logs", "python_logging", "shared_result"), _TWISTED),
    "tracing": _TWISTED | {"opentelemetry"},
    "security": _TWISTED | {"OpenSSL", "cryptography", "jwt", "service_identity"},
    "codec": _BASE | {"google"},
    "ledger": _BASE | {"pyarrow"},
    "storage": _BASE | {"rocksdict"},
    "blocking_reads": _TWISTED,
    "metadata": _TWISTED | {"kazoo"},
    **dict.fromkeys(("placement", "protocol", "authorization", "bookie"), _TWISTED),
    "authentication": _TWISTED | {"gssapi"},
    **dict.fromkeys(("client", "autorecovery"), _TWISTED),
    **dict.fromkeys(("aio", "blocking"), _TWISTED),
    "spark": _TWISTED | {"pyspark", "pyarrow"},
    **dict.fromkeys(("http", "embedding"), _TWISTED | {"prometheus_client"}),
    "cli": _TWISTED | {"prometheus_client", "tqdm"},
    "testing": _TWISTED | {"hypothesis"},
    "": frozenset(),
}

# Rooms whose objects many modules share: what one of them means is decided in one module.
OWNED = ("client/writing/", "protocol/client/")

# The other doors of the client, whose classes have the names of its own: a program changes its import alone.
OTHER_DOORS = ("aio/", "blocking/")

# The world: what makes a run of the program differ from the last one.
WORLD = frozenset(
    {"fcntl", "mmap", "multiprocessing", "os", "pathlib", "queue", "random", "secrets", "select", "shutil", "signal"}
    | {"socket", "sqlite3", "subprocess", "tempfile", "threading", "time", "uuid", "twisted.internet.reactor"}
)

# The production adapters, and what each of them is the door to.
DOORS: dict[str, frozenset[str]] = {
    "blocking/reactor_thread.py": frozenset({"os", "threading"}),
    "authentication/sasl/production.py": frozenset({"secrets", "time"}),
    "security/files.py": frozenset({"os"}),
    "authorization/audit_file.py": frozenset({"os"}),
    "security/keys.py": frozenset({"os", "pathlib"}),
    "security/ledger_keys.py": frozenset({"os"}),
    "security/sockets.py": frozenset({"os"}),
    "metadata/zookeeper/encryption.py": frozenset({"socket"}),
    "storage/files/filesystem.py": frozenset({"os", "fcntl", "mmap"}),
    "storage/files/page_cache.py": frozenset({"os"}),
    "storage/files/proc_files.py": frozenset({"os"}),
    "storage/files/disk_queue.py": frozenset({"mmap"}),
    "storage/files/kernel_context.py": frozenset({"mmap"}),
    "storage/files/durable_writer.py": frozenset({"os", "mmap"}),
    "storage/index/index_file.py": frozenset({"sqlite3"}),
    "storage/index/run_index.py": frozenset({"sqlite3"}),
    **dict.fromkeys((
        "bookie/requests/loop_watch.py", "bookie/lifecycle/disk_history.py", "protocol/turns.py",
        "spark/task/pacing.py", "spark/task/partition.py",
    ), frozenset({"time"})),
    "bookie/executor.py": frozenset({"threading", "queue"}),
    "client/production.py": frozenset({"pathlib", "random", "socket"}),
    "client/claims/threads.py": frozenset({"threading"}),
    "protocol/direct_transport.py": frozenset({"fcntl"}),
    "http/console/history/event_file.py": frozenset({"os"}),
    "metadata/embedded/sqlite.py": frozenset({"os"}),
    "sqlite_files.py": frozenset({"os"}),
    "metadata/embedded/sqlite_reserve.py": frozenset({"os", "fcntl"}),
    "metadata/embedded/sqlite_sessions.py": frozenset({"os", "fcntl", "uuid"}),
    "metadata/embedded/sqlite_store.py": frozenset({"sqlite3", "time", "uuid"}),
    "spark/messages.py": frozenset({"os"}),
    "spark/main.py": frozenset({"os", "pathlib", "time"}),
    "spark/sink/writers.py": frozenset({"uuid"}),
    "blocking_reads/connection.py": frozenset({"socket"}),
    "blocking_reads/pool.py": frozenset({"threading"}),
    "testing/streams.py": frozenset({"random"}),
    "metadata/zookeeper/factory.py": frozenset({"uuid"}),
    "embedding/local_host.py": frozenset({"fcntl", "os", "socket"}),
    "embedding/standalone.py": frozenset({"os"}),
    "embedding/temporary.py": frozenset({"tempfile"}),
    "cli/": WORLD,
}

# Circles that are left; one that has gone has to go from here.  Of modules:
MODULE_CIRCLES: Circles = frozenset()
# and of what a package directly consists of:
ROOM_CIRCLES: Circles = frozenset()


def read_tree(root: Path) -> dict[str, str]:
    """Our Python sources below a directory; generated code is not ours."""
    paths = [p for top in (PACKAGE, "tests", "examples", "benchmarks") for p in sorted((root / top).rglob("*.py"))]
    return {str(p.relative_to(root)): p.read_text() for p in paths if not p.name.endswith("_pb2.py")}


def imports_point_down(tree: Tree) -> Iterator[str]:
    """A package imports of ours only what its row allows."""
    for path, module in _modules(tree):
        allowed = OURS.get(_unit(path))
        if allowed is None:
            yield f"{path}: the import table has no row for it"
            continue
        for name in module.imports:
            if not name.startswith(PACKAGE + "."):
                continue
            ours = name.removeprefix(PACKAGE + ".")
            if not any(ours == a or ours.startswith(a + ".") for a in allowed):
                yield f"{path}: imports {name}"


def modules_form_no_circle(tree: Tree, known: Circles = MODULE_CIRCLES) -> Iterator[str]:
    """No module imports itself over others; imports for type checkers and inside functions count."""
    yield from _differences(_circles(_graph(tree)), known)


def rooms_form_no_circle(tree: Tree, known: Circles = ROOM_CIRCLES) -> Iterator[str]:
    """The modules and packages that a package directly consists of can be put in an order of imports."""
    graph = _graph(tree)
    packages = {name.rpartition(".")[0] for name in graph}
    circles = [circle for package in sorted(packages) for circle in _circles(_inside(package, graph))]
    yield from _differences((circle for circle in circles if circle & packages), known)


def _differences(circles: Iterable[frozenset[str]], known: Circles) -> Iterator[str]:
    """Sentences about circles that are not known, and about known ones that are not there any more."""
    found = set(circles)
    for circle in found - known:
        yield f"a circle of imports: {', '.join(sorted(circle))}"
    for circle in known - found:
        yield f"no circle any more: {', '.join(sorted(circle))}"


def _graph(tree: Tree) -> dict[str, set[str]]:
    """The modules that each module of the package imports; names without the package's."""
    prefix = PACKAGE + "."
    modules = {_name_of(path).removeprefix(prefix): module for path, module in _modules(tree)}
    graph: dict[str, set[str]] = {}
    for name, module in modules.items():
        imported = (found.removeprefix(prefix) for found in module.imports)
        named = {found if found in modules else found.rpartition(".")[0] for found in imported}
        graph[name] = (named & modules.keys()) - {name}
    return graph


def _inside(package: str, graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The imports among what a package directly consists of: modules, and packages as one."""
    depth = package.count(".") + 2 if package else 1

    def child(name: str) -> str:
        return ".".join(name.split(".")[:depth])

    inside: dict[str, set[str]] = {}
    for name, imported in graph.items():
        if name.startswith(package + ".") or not package:
            others = {child(other) for other in imported if other.startswith(package + ".") or not package}
            inside.setdefault(child(name), set()).update(others - {child(name)})
    return inside


def _circles(graph: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """The largest sets of names that all reach each other."""
    reached = {name: _reached(name, graph) for name in graph}
    circles = {frozenset(other for other in reached[name] if name in reached.get(other, ())) for name in graph}
    return [circle for circle in circles if len(circle) > 1]


def _reached(start: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for name in graph.get(waiting.pop(), ()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


def fields_have_one_writer(tree: Tree) -> Iterator[str]:
    """A field of a class in :data:`OWNED` is assigned in the module of its class and in no other.

    Objects are told apart by the names of their fields: a name that no class of the module declares is another's.
    """
    modules = {path: module for path, module in _modules(tree) if path.startswith(PACKAGE + "/client/")}
    modules |= {path: module for path, module in _modules(tree) if path.startswith(PACKAGE + "/protocol/client/")}
    owned = {
        name for path, module in modules.items() if path.removeprefix(PACKAGE + "/").startswith(OWNED)
        for name in module.fields
    }  # fmt: skip
    for path, module in modules.items():
        for line, name in module.assigned:
            if name in owned and name not in module.fields:
                yield f"{path}:{line}: assigns the field {name} of another module's class"


def libraries_stay_in_their_layer(tree: Tree) -> Iterator[str]:
    """A package imports of others only what its row allows."""
    for path, module in _modules(tree):
        allowed = OUTSIDE.get(_unit(path), frozenset())
        for name in module.imports:
            top = name.partition(".")[0]
            if top not in allowed and top not in sys.stdlib_module_names and top != PACKAGE:
                yield f"{path}: imports {name}"


def the_world_comes_through_doors(tree: Tree) -> Iterator[str]:
    """Clock, disk, network, threads and randomness are imported by the production adapters only."""
    for path, module in _modules(tree):
        here = path.removeprefix(PACKAGE + "/")
        allowed = frozenset().union(*(names for door, names in DOORS.items() if here.startswith(door)))
        for name in module.imports:
            for world in WORLD - allowed:
                if name == world or name.startswith(world + "."):
                    yield f"{path}: imports {name}"
        if "cli/" not in path:
            yield from (f"{path}:{line}: opens a file" for line in module.opens)


def modules_are_short(tree: Tree) -> Iterator[str]:
    """No module is longer than 500 lines."""
    for path, text in tree.items():
        lines = text.count("\n")
        if lines > MAX_MODULE_LINES:
            yield f"{path}: {lines} lines"


def functions_are_short(tree: Tree) -> Iterator[str]:
    """No function is longer than 50 lines."""
    for path, text in tree.items():
        for line, name, lines in _facts(path, text).functions:
            if lines > MAX_FUNCTION_LINES:
                yield f"{path}:{line}: {name} has {lines} lines"


def rooms_are_small(tree: Tree) -> Iterator[str]:
    """No room has more than fifteen modules directly in its folder, ``__init__.py`` not counted."""
    counts = Counter(path.rpartition("/")[0] for path, _ in _modules(tree) if not path.endswith("/__init__.py"))
    yield from (f"{room}: {count} modules" for room, count in sorted(counts.items()) if count > MAX_ROOM_MODULES)


def class_names_are_unique(tree: Tree) -> Iterator[str]:
    """No two modules define classes of one name, a leading underscore not counted; see :data:`OTHER_DOORS`."""
    first: dict[str, str] = {}
    for path, module in _modules(tree):
        if path.removeprefix(PACKAGE + "/").startswith(OTHER_DOORS):
            continue
        for line, name in module.classes:
            if (other := first.setdefault(name.lstrip("_"), path)) != path:
                yield f"{path}:{line}: {name} is a class of {other}, too"


def benchmarks_import_no_tests(tree: Tree) -> Iterator[str]:
    """What benchmarks and tests both need is in ``benchmarks.shared``, or in the package's ``testing``."""
    for path, text in tree.items():
        if path.startswith("benchmarks/"):
            for name in _facts(path, text).imports:
                if name.partition(".")[0] == "tests":
                    yield f"{path}: imports {name}"


def modules_have_tests(tree: Tree) -> Iterator[str]:
    """Each module is reached, over imports, from a test below ``tests/<room>/``; interfaces have nothing to test."""
    imports = {_name_of(path): set(module.imports) for path, module in _modules(tree)}
    tested: dict[str, set[str]] = {}
    for path, text in tree.items():
        if path.startswith("tests/"):
            tested.setdefault(_room_of_tests(path), set()).update(_facts(path, text).imports)
    reached = {room: _closure(tested.get(room, set()) | tested.get("", set()), imports) for room in OURS}
    for path, _ in _modules(tree):
        if path.rpartition("/")[2] in ("__init__.py", "__main__.py", "interfaces.py"):
            continue
        if _name_of(path) not in reached.get(_unit(path), set()):
            yield f"{path}: no test of its room reaches it"


def public_names_are_documented(tree: Tree) -> Iterator[str]:
    """Modules, the public classes and functions of the package, and tests have a docstring.

    A class that is nothing but fields may leave it to its module.
    """
    for path, text in tree.items():
        yield from _facts(path, text).undocumented


def package_roots_hold_no_code(tree: Tree) -> Iterator[str]:
    """``__init__.py`` is a docstring, imports and plain names."""
    for path, module in _modules(tree):
        if path.endswith("__init__.py"):
            yield from (f"{path}:{line}: code in a package root" for line in module.code)


class Facts(NamedTuple):
    """What the rules ask of a module; syntax trees are not kept, they are millions of objects.

    ``imports`` are absolute names, at any depth; ``functions`` line, name and length of each; ``undocumented``
    sentences; ``opens`` lines that open a file; ``code`` lines at the top that are neither imports nor plain names;
    ``classes`` line and name of each, inner ones too; ``fields`` names of fields that classes declare; ``assigned``
    line and name of fields of other objects than ``self`` that are assigned.
    """

    imports: tuple[str, ...]
    functions: tuple[tuple[int, str, int], ...]
    undocumented: tuple[str, ...]
    opens: tuple[int, ...]
    code: tuple[int, ...]
    classes: tuple[tuple[int, str], ...]
    fields: frozenset[str]
    assigned: tuple[tuple[int, str], ...]


@cache
def _facts(path: str, text: str) -> Facts:
    module = ast.parse(text)
    nodes = list(ast.walk(module))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    plain = ast.Expr | ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign
    return Facts(
        tuple(_imported(path, nodes)),
        tuple((f.lineno, f.name, (f.end_lineno or f.lineno) - f.lineno + 1) for f in functions),
        tuple(_undocumented(path, module)),
        tuple(call.lineno for call in calls if isinstance(call.func, ast.Name) and call.func.id == "open"),
        tuple(node.lineno for node in module.body if not isinstance(node, plain)),
        tuple((node.lineno, node.name) for node in nodes if isinstance(node, ast.ClassDef)),
        frozenset(_fields(nodes)),
        tuple((t.lineno, t.attr) for t in _assigned(nodes) if not _is_own(t)),
    )


def _assigned(nodes: Iterable[ast.AST]) -> Iterator[ast.Attribute]:
    """The attributes that are assigned, in tuples too."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node


def _is_own(target: ast.Attribute) -> bool:
    return isinstance(target.value, ast.Name) and target.value.id in ("self", "cls")


def _fields(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Names that classes annotate, list as slots, or assign to themselves."""
    yield from (target.attr for target in _assigned(nodes) if _is_own(target))
    for node in nodes:
        for part in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                yield part.target.id
            elif isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "__slots__":
                yield from (str(c.value) for c in ast.walk(part.value) if isinstance(c, ast.Constant))


def _undocumented(path: str, module: ast.Module) -> Iterator[str]:
    if module.body and not ast.get_docstring(module):
        yield f"{path}: no docstring"
    for node in _tests(module) if path.startswith("tests/") else _public(path, module):
        if not ast.get_docstring(node):
            yield f"{path}:{node.lineno}: {node.name} has no docstring"


def _modules(tree: Tree) -> Iterator[tuple[str, Facts]]:
    """The modules of the package, generated code left out."""
    for path, text in tree.items():
        if path.startswith(PACKAGE + "/") and "/_pb/" not in path:
            yield path, _facts(path, text)


def _name_of(path: str) -> str:
    """The dotted name of a module."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _closure(names: set[str], imports: Mapping[str, set[str]]) -> set[str]:
    """The modules that names stand for, and all that these import, directly or not."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        module = name if name in imports else name.rpartition(".")[0]
        if module in imports and module not in found:
            found.add(module)
            waiting.extend(imports[module])
    return found


def _room_of_tests(path: str) -> str:
    """The room whose tests lie there; empty for those at the top."""
    room, slash, _ = path.removeprefix("tests/").partition("/")
    return room if slash else ""


def _unit(path: str) -> str:
    """The row of the import table a module belongs to."""
    first, slash, _ = path.removeprefix(PACKAGE + "/").partition("/")
    return first if slash else first.removesuffix(".py").replace("__init__", "")


def _imported(path: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Absolute names of everything a module imports, at any depth."""
    package = path.removesuffix(".py").removesuffix("/__init__").split("/")
    if not path.endswith("__init__.py"):
        package.pop()
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            # ``from package import module`` names the module; ``from module import name`` a bit too much,
            # which does not matter where whole packages are compared.
            yield from (f"{source}.{alias.name}" for alias in node.names)


def _public(path: str, module: ast.Module) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Public classes and functions of a module of the package."""
    for node in module.body if path.startswith(PACKAGE + "/") else ():
        if not isinstance(node, _DEFINITIONS) or node.name.startswith("_"):
            continue
        if not all(isinstance(field, ast.AnnAssign | ast.Assign | ast.Pass) for field in node.body):
            yield node


def _tests(module: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Test methods of a module."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node
