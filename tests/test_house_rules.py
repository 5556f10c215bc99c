"""How the code is laid out: what may import what, how long things may be, and that all is documented."""

import ast
import gc
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
INTERFACE_METHODS_MAX = 9
FOLDER_FILES_MAX = 25
GENERATED = "\n\nGenerated from"
"""In the docstring of a module that a script has written."""
BAD_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}

LEAST_REQUEST_CODE = 10

RATCHET = tomllib.loads((ROOT / "tests/house_ratchet.toml").read_text())

LEVELS = {
    "core": {"core"},
    "log": {"log"},
    "trouble": {"log", "trouble"},
    "turns": {"turns"},
    "hooks": {"core", "log", "trouble", "turns", "hooks"},
}
LEVELS["net"] = LEVELS["hooks"] | {"net"}
LEVELS["store"] = LEVELS["net"] | {"store"}
_BELOW = LEVELS["store"]
for _name in ("nameserver", "broker", "client"):
    LEVELS[_name] = _BELOW | {_name}
LEVELS["__init__"] = _BELOW | {"nameserver", "broker", "client"}
LEVELS["__main__"] = {"__main__", "hooks"}
"""What each part of the kernel may import:

broker, nameserver, client → store → net → hooks → core."""

SUBJECTS: dict[str, set[str]] = {
    "mqframe_testing": {*LEVELS["__init__"], "__init__", "mqframe_admin"},
    "mqframe_cli": {*LEVELS["__init__"], "__init__", "mqframe_admin", "mqframe_testing"},
    "mqframe_store_tools": {"core", "hooks", "log", "net", "store", "__init__", "mqframe_cli"}
    | {"mqframe_admin", "mqframe_delay", "mqframe_index"},
    "mqframe_admin": {*LEVELS["net"], "client", "mqframe_assignment", "mqframe_trace"},
    "mqframe_metrics": {"core", "hooks", "log", "turns"},
    "mqframe_pop": {*LEVELS["net"], "client"},
    "mqframe_keyed": {*LEVELS["net"], "client"},
    "mqframe_pull": {*LEVELS["net"], "client"},
    "mqframe_request_reply": {*LEVELS["net"], "client"},
    "mqframe_steering": {*LEVELS["net"], "client"},
    "mqframe_transactions": {*LEVELS["net"], "client"},
    # Broker services: what plugins may import, and the room with the files of the store.
    "mqframe_delay": {*LEVELS["hooks"], "store"},
    "mqframe_index": {*LEVELS["hooks"], "store"},
    "mqframe_assignment": LEVELS["hooks"],
    # A door for another protocol stands on the client's part, too: before brokers elsewhere.
    "mqframe_grpc": {*LEVELS["net"], "client", "turns"} | {"mqframe_admin", "mqframe_pop", "mqframe_cli"},
    # Roles are trusted: they are made of the inside of broker and store.
    "mqframe_replication": {*LEVELS["broker"], "mqframe_admin", "mqframe_cli"},
    "mqframe_election": {*LEVELS["broker"], "mqframe_admin", "mqframe_replication"},
    # So is what does in compiled code what these do.
    "mqframe_speedups": LEVELS["broker"],
}
"""Distributions made of what the kernel is made of, and what each may import: parts of the kernel, and other
distributions. The kernel's rules hold for them, too."""

FLOORS: dict[str, list[set[str]]] = {
    "mqframe.core": [
        {"clock", "codes", "os_errors", "printable"},
        {"errors"},
        {"measuring", "messages", "moments", "versions"},
        {"parameters", "wire"},
        {"config"},
        {"delay"},
        {"storage"},
        {"filtering", "requests"},
        {"consuming"},
        {"retry"},
        {"cluster", "sending"},
    ],
    "mqframe.hooks": [
        {"late_names"},
        {"failed_requests", "installed", "interfaces", "specs", "table_reply"},
        {"dialects", "options"},
        {"built_in", "codecs", "isolate", "kinds", "known_distributions"}
        | {"averagely", "hash_selector", "remote_offset_store"},
        {"isolate_listeners", "isolate_services", "names", "plugin_info"},
        {"client_parts", "missing", "sections"},
        {"catalog"},
        {"manager"},
    ],
    "mqframe.net": [
        {"access", "addresses", "busy_poll", "clock", "frame_path", "heap", "listening", "settings"},
        {"endpoint", "deadlines", "latencies", "unread"},
        {"budgets", "connection", "send_buffer", "serving"},
        {"peer_group", "tls"},
        {"async_serving"},
        {"async_peer", "blocking_peer", "in_process"},
        {"idle_reader"},
        {"blocking", "client", "server"},
        {"listeners"},
    ],
    "mqframe.store": [
        {"incoming", "settings"},
        {"files"},
        {"log", "queues"},
        {"message_files"},
        {"appending", "reading"},
        {"following", "upkeep"},
        {"copy_parts", "recovered_store"},
        {"message_store", "reader"},
    ],
    "mqframe.nameserver": [
        {"kv_config", "measured", "settings"},
        {"live_settings", "ordered_topics"},
        {"handlers"},
        {"server"},
    ],
    "mqframe.broker": [
        {"delay_levels", "due_task", "log_reader", "settings", "shared_log"},
        {"chosen_services", "role_settings"},
        {"sections", "tables"},
        {"service", "store_opening"},
        {"administration", "consuming", "dispatch_lag", "missing_plugins", "runtime", "sending"},
        {"state"},
        {"cluster", "services"},
        {"measured", "roles"},
        {"assembly"},
        {"broker"},
        {"host"},
        {"lone_role"},
    ],
    "mqframe.client": [
        {"settings"},
        {"configuration"},
        {"connection"},
        {"sending"},
        {"consuming"},
    ],
    "mqframe_store_tools": [
        {"checking"},
        {"commands"},
    ],
    "mqframe_metrics": [
        {"rules", "settings", "source"},
        {"broker", "nameserver", "proxy"},
        {"serving"},
        {"plugin"},
    ],
    "mqframe_testing": [
        {
            "allocation_ports",
            "at_once",
            "coordination",
            "manual_clock",
            "ports",
            "protocol_client",
            "scripted_broker",
            "thread_pools",
        },
        {"cluster", "consuming", "server_process", "simulation"},
        {"cluster_scene", "conformance", "stage"},
        {"fixtures"},
    ],
    "mqframe_cli": [
        {"built_in", "later", "logs", "settings", "stopped_store", "text"},
        {"contexts", "sending"},
        {"commands", "output"},
        {"app", "group_plan", "names", "processes"},
        {"access"},
        {"live"},
        {"extension"},
        # The commands.
        {"bench", "cluster", "config", "consume", "context", "dlq", "group", "message", "offset", "plugins"}
        | {"quickstart", "request", "server", "topic", "user", "worker"},
        {"broker", "mqadmin"},
    ],
    "mqframe_replication": [
        {"rules", "settings", "store"},
        {"sections", "stream"},
        {"broker"},
        {"commands", "plugin"},
    ],
    "mqframe_election": [
        {"coordination", "rules"},
        {"settings", "stream"},
        {"broker"},
        {"plugin"},
    ],
    "mqframe_admin": [
        {"access", "bodies", "request_needs", "rules", "settings"},
        {"requests"},
        {"broker", "client"},
    ],
    "mqframe_grpc": [
        {"proto"},
        {"rules", "transport"},
        {"access", "latencies"},
        {"certificates", "clients", "options"},
        {"backend"},
        {"calls", "inside", "outside"},
        {"door"},
        {"judging", "port"},
        {"proxy", "service"},
        {"command_line", "commands"},
    ],
    "mqframe_pop": [
        {"request_needs", "settings"},
        {"requests"},
        {"rules"},
        {"broker", "client"},
    ],
    "mqframe_keyed": [
        {"keys"},
        {"lanes", "sending"},
        {"failures"},
        {"service"},
        {"mode"},
    ],
    "mqframe_pull": [
        {"settings"},
        {"lite_pull", "puller", "sections"},
    ],
    "mqframe_steering": [
        {"calls_by_queue", "pauses", "rules"},
        {"followed_topics", "rebalance_listeners"},
    ],
    "mqframe_request_reply": [
        {"requests", "settings"},
        {"rules"},
        {"broker", "client"},
    ],
    "mqframe_transactions": [
        {"requests", "settings"},
        {"rules"},
        {"broker", "client"},
    ],
    "mqframe_delay": [
        {"requests", "rules", "settings"},
        {"store"},
        {"broker"},
    ],
    "mqframe_index": [
        {"settings"},
        {"store"},
        {"service"},
    ],
    "mqframe_assignment": [
        {"requests", "settings"},
        {"rules"},
        {"broker"},
    ],
    "mqframe_speedups": [
        {"_native", "switch"},
        {"callers"},
        {"rules_asked", "served_read"},
        {"commits", "elements", "gathering", "messages", "pulls", "sends", "unique_ids"},
        {"log_reading"},
        {"path"},
        {"service"},
    ],
    "mqframe_spark": [
        {"catalog_table", "decoding", "deduplication", "durable_file", "java", "kafka_options", "lag"},
        {"object_store_options", "pull_window", "records", "retrying", "worker_socket", "zones"},
        {"functions", "given", "home"},
        {"access", "starting"},
        {"local", "wire"},
        {"sink", "source", "summary"},
        {"exact", "jobs", "lake"},
        {"command_line", "writers"},
        {"commands"},
    ],
}
"""Rooms and files of a part, lowest first: each imports what lies lower, and a room its own files.

Every folder of the kernel has its floors here, but for those that house_ratchet.toml names.
"""

CONSTRUCTOR_THINGS_MAX = 5
"""What a constructor may take besides `self`: more shows that a class does too much, or that things that
belong together travel apart. Whoever takes more now is listed, with a number that only ever shrinks."""

OBJECT_LINES_MAX = 600
OBJECT_LEVELS_MAX = 3
OBJECT_MEMBERS_MAX = 45
"""Of an object with all that it inherits from classes of ours: lines, classes one below the other, public
methods and attributes. A class that is cut into a chain of bases is as large as before."""

IMPURE = {
    "asyncio",
    "concurrent",
    "multiprocessing",
    "os",
    "random",
    "secrets",
    "select",
    "selectors",
    "shutil",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "uuid",
}
"""What `core` may not know, nor the `rules` of a subject: clock, chance and the outer world are handed in."""

PLUGIN_MAY_IMPORT = (
    "mqframe.core",
    "mqframe.hooks",
    "mqframe.store.reader",
    "mqframe.log",
    "mqframe.trouble",
    "mqframe.turns",
    "mqframe_cli.extension",
    "mqframe_admin.access",
    "mqframe_admin.bodies",
    "mqframe_admin.requests",
    "mqframe_admin.rules",
    "mqframe_pull.puller.raw_pull",
    "mqframe_steering.rules",
    "mqframe_transactions.rules",
    "mqframe_transactions.settings",
)


@cache
def kernel() -> list[Path]:
    return sorted((ROOT / "mqframe").rglob("*.py"))


@cache
def plugin_sources() -> list[Path]:
    """Of all distributions but the kernel's."""
    return sorted([*ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("plugins/*/src/**/*.py")])


@cache
def plugin_tests() -> list[Path]:
    return sorted([*ROOT.glob("packages/*/tests/**/*.py"), *ROOT.glob("plugins/*/tests/**/*.py")])


@cache
def distribution(path: Path) -> str:
    """The package that a source or a test belongs to: `mqframe_cli`."""
    folder = ROOT.joinpath(*path.relative_to(ROOT).parts[:2])
    if folder.parent.name not in ("packages", "plugins"):
        return "mqframe"
    return next(each.parent.name for each in folder.glob("src/*/__init__.py"))


@cache
def house() -> list[Path]:
    """The kernel, and what is made of the same."""
    return kernel() + [path for path in plugin_sources() if distribution(path) in SUBJECTS]


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax of a file, parsed once for all rules."""
    return ast.parse(path.read_text("utf-8"), str(path))


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All that is in the syntax of a file."""
    return list(ast.walk(tree_of(path)))


@pytest.fixture(scope="module", autouse=True)
def _let_go_of_trees() -> Iterator[None]:
    """Other tests of this process need the memory, and a collector that is not busy with trees."""
    gc.collect()
    gc.disable()
    yield
    for cached in (tree_of, nodes_of):
        cached.cache_clear()
    gc.enable()
    gc.collect()


def place(path: Path, line: int = 1) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


@cache
def imports(path: Path) -> list[tuple[str, list[str], int]]:
    """(module, names, line) of every import, those in functions included; relative ones made absolute."""
    package = module_of(path).split(".")[:-1]
    found: list[tuple[str, list[str], int]] = []
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found += [(alias.name, [], node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found.append((module, [alias.name for alias in node.names], node.lineno))
    return found


def parts_of(module: str, names: list[str]) -> set[str]:
    """The parts of the kernel that an import reaches."""
    words = module.split(".")
    if words[0] != "mqframe":
        return set()
    if len(words) > 1:
        return {words[1]}
    # What the package itself exports brings all of it along.
    return {name if name in LEVELS else "__init__" for name in names if not name.startswith("__")}


def none(wrong: list[str]) -> None:
    """Fails with one line for each of `wrong`, file and line first."""
    assert not wrong, "\n" + "\n".join(wrong)


def test_arrows_go_one_way() -> None:
    wrong = []
    for path in kernel():
        part = path.relative_to(ROOT / "mqframe").parts[0].removesuffix(".py")
        for module, names, line in imports(path):
            targets = sorted(parts_of(module, names) - LEVELS[part])
            wrong += [f"{place(path, line)}: {part} imports mqframe.{target}" for target in targets]
    none(wrong)


def test_subjects_import_what_they_are_made_of() -> None:
    wrong = []
    for path in plugin_sources():
        own = distribution(path)
        if own in SUBJECTS:
            for module, names, line in imports(path):
                targets = parts_of(module, names)
                if module.startswith("mqframe_"):
                    targets = {module.partition(".")[0]} - {own}
                wrong += [
                    f"{place(path, line)}: {own} imports {target}"
                    for target in sorted(targets - SUBJECTS[own])
                ]
    none(wrong)


def test_floors_of_a_part_import_downwards() -> None:
    wrong = []
    for part, floors in FLOORS.items():
        levels = {room: level for level, rooms in enumerate(floors) for room in rooms}
        first, *inner = part.split(".")
        folder = next(path.parent for path in kernel() + plugin_sources() if path.parent.name == first)
        folder = folder.joinpath(*inner)
        for path in sorted(folder.rglob("*.py")):
            room = path.relative_to(folder).parts[0].removesuffix(".py")
            if room == "__init__":
                continue
            if room not in levels:
                wrong.append(f"{place(path)}: FLOORS has no {part}.{room}: enter it above what it imports")
                continue
            for module, names, line in imports(path):
                if module != part and not module.startswith(f"{part}."):
                    continue
                target, _, _ = module.removeprefix(part).removeprefix(".").partition(".")
                wrong += [
                    f"{place(path, line)}: {part}.{room} imports {name}, which FLOORS does not have below it:"
                    " move down what it needs, or have it handed in"
                    for name in ([target] if target else names)
                    if name != room and levels.get(name, len(floors)) >= levels[room]
                ]
    none(wrong)


def test_every_part_has_its_floors() -> None:
    parts = {f"mqframe.{path.parent.name}" for path in kernel() if path.parent.parent == ROOT / "mqframe"}
    parts |= SUBJECTS.keys()
    without = RATCHET["without_floors"]["parts"]
    none([f"FLOORS does not have the rooms of {part}" for part in sorted(parts - {*FLOORS, *without})])
    none([f"house_ratchet.toml: {part} is no longer needed" for part in without if part in FLOORS])


def test_constructors_take_few_things() -> None:
    allowed = RATCHET["constructors"]
    wide = {}
    for path in house():
        for name, node in functions(tree_of(path)):
            given = node.args
            count = len(given.posonlyargs + given.args + given.kwonlyargs) - 1
            if name.endswith("__init__") and count > CONSTRUCTOR_THINGS_MAX:
                wide[f"{path.relative_to(ROOT).as_posix()}:{name}"] = count
    none([f"{key} takes {count} things" for key, count in wide.items() if count > allowed.get(key, 0)])
    none([f"house_ratchet.toml: {key} is no longer needed" for key in allowed if key not in wide])


class Described(NamedTuple):
    """A class of the kernel: its lines, whether it has methods, its public members, and its bases of ours."""

    lines: int
    has_methods: bool
    members: set[str]
    bases: list[str]


def members_of(node: ast.ClassDef) -> set[str]:
    """Names of methods, and of attributes that are declared in the class or set by its methods."""
    found: set[str] = set()
    for child in node.body:
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(child.name)
            found |= {
                each.attr
                for each in ast.walk(child)
                if isinstance(each, ast.Attribute)
                and isinstance(each.ctx, ast.Store)
                and isinstance(each.value, ast.Name)
                and each.value.id == "self"
            }
        elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            found.add(child.target.id)
        elif isinstance(child, ast.Assign):
            found |= {target.id for target in child.targets if isinstance(target, ast.Name)}
    return {name for name in found if not name.startswith("_")}


def module_of(path: Path) -> str:
    """The name by which a source is imported."""
    root = next((each.parent for each in path.parents if each.name == distribution(path)), ROOT)
    return ".".join(path.relative_to(root).with_suffix("").parts)


@cache
def described_classes() -> dict[str, Described]:
    """The classes at the top of modules, by "module.Class", but for groups of settings."""
    found = {}
    for path in house():
        tree = tree_of(path)
        module = module_of(path)
        known = {name: f"{source}.{name}" for source, names, _ in imports(path) for name in names}
        known |= {node.name: f"{module}.{node.name}" for node in tree.body if isinstance(node, ast.ClassDef)}
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not any(called(d, "settings") for d in node.decorator_list):
                plain = (base.value if isinstance(base, ast.Subscript) else base for base in node.bases)
                bases = [known.get(base.id, "") for base in plain if isinstance(base, ast.Name)]
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                acts = any(isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) for child in node.body)
                found[f"{module}.{node.name}"] = Described(lines, acts, members_of(node), bases)
    return found


def whole_object(name: str) -> tuple[int, int, int]:
    """Lines, levels and public members of the class with all that it inherits from others of the kernel.

    What has no method of its own, as most kinds of errors and of requests, is no level.
    """
    classes, seen = described_classes(), set[str]()

    def levels(each: str) -> int:
        seen.add(each)
        below = max((levels(base) for base in classes[each].bases if base in classes), default=0)
        return below + classes[each].has_methods

    depth = levels(name)
    members = set[str]().union(*(classes[each].members for each in seen))
    return sum(classes[each].lines for each in seen), depth, len(members)


def test_objects_are_small_with_all_that_they_inherit() -> None:
    limits = OBJECT_LINES_MAX, OBJECT_LEVELS_MAX, OBJECT_MEMBERS_MAX
    words = "lines", "levels", "members"
    large: dict[str, dict[str, int]] = {word: {} for word in words}
    for name in described_classes():
        for word, limit, number in zip(words, limits, whole_object(name), strict=True):
            if number > limit:
                large[word][name] = number
    for word in words:
        allowed = RATCHET["objects"][word]
        none(
            [
                f"{name} has {number} {word} over all its levels"
                for name, number in large[word].items()
                if number > allowed.get(name, 0)
            ]
        )
        none([f"house_ratchet.toml: {each} has fewer {word}" for each in allowed if each not in large[word]])


def test_core_and_the_rules_of_subjects_are_pure() -> None:
    pure = [path for path in kernel() if ROOT / "mqframe/core" in path.parents]
    pure += [path for path in house() if f"/{distribution(path)}/rules/" in path.as_posix()]
    wrong = [
        f"{place(path, line)}: a rule imports {module}"
        for path in pure
        for module, _, line in imports(path)
        if module.partition(".")[0] in IMPURE
    ]
    none(wrong)


def test_plugins_import_public_names_only() -> None:
    wrong = []
    tests = set(plugin_tests())
    for path in plugin_sources() + plugin_tests():
        if distribution(path) in SUBJECTS:
            continue
        may = PLUGIN_MAY_IMPORT + (("mqframe_testing",) if path in tests else ())
        for module, names, line in imports(path):
            parts = (
                [f"mqframe.{name}" for name in names if name in LEVELS] if module == "mqframe" else [module]
            )
            for found in parts:
                public = any(found == name or found.startswith(name + ".") for name in may)
                ours = found.partition(".")[0] in ("mqframe", *SUBJECTS)
                key = f"{path.relative_to(ROOT).as_posix()}:{found}"
                if ours and not public and key not in RATCHET["plugin_imports"]:
                    wrong.append(f"{place(path, line)}: a plugin imports {found}")
    none(wrong)
    used = {
        f"{path.relative_to(ROOT).as_posix()}:{module}"
        for path in plugin_sources() + plugin_tests()
        for module, _, _ in imports(path)
    }
    none(
        [
            f"house_ratchet.toml: {key} is no longer needed"
            for key in RATCHET["plugin_imports"]
            if key not in used
        ]
    )


def test_a_class_name_means_one_thing() -> None:
    """Of public classes of all distributions."""
    homes: dict[str, list[str]] = {}
    for path in house():
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(place(path, node.lineno))
    twice = {name: places for name, places in homes.items() if len(places) > 1}
    none([f"{name}: {', '.join(places)}" for name, places in twice.items()])


SERVICES = {
    "mqframe/broker/delay_levels": "mqframe.broker.delay_levels",
    "plugins/admin/src/mqframe_admin/broker": "mqframe_admin",
    "plugins/assignment/src/mqframe_assignment/broker": "mqframe_assignment",
    "plugins/delay/src/mqframe_delay/broker": "mqframe_delay",
    "plugins/pop/src/mqframe_pop/broker": "mqframe_pop",
    "plugins/request_reply/src/mqframe_request_reply/broker": "mqframe_request_reply",
    "plugins/transactions/src/mqframe_transactions/broker": "mqframe_transactions",
}
"""The rooms of services that every broker runs, with what is their own: built as any plugin is."""


def test_services_of_the_broker_use_what_plugins_may() -> None:
    wrong = []
    for room, own in SERVICES.items():
        paths = sorted((ROOT / room).rglob("*.py"))
        assert paths, f"{room} has moved"
        for path in paths:
            for module, _, line in imports(path):
                if f"{module}.".startswith(tuple(f"{each}." for each in (*PLUGIN_MAY_IMPORT, own))):
                    continue
                if module.startswith("mqframe"):
                    wrong.append(f"{place(path, line)}: a service imports {module}")
    none(wrong)


def test_broker_parts_of_subjects_use_what_plugins_may() -> None:
    """Also where the distribution is made of what the kernel is made of: its producers use the client.

    Those that SUBJECTS lets import the broker's inside are roles, not services.
    """
    wrong = []
    for path in plugin_sources():
        own = distribution(path)
        if "broker" in SUBJECTS.get(own, {"broker"}) or f"/{own}/broker/" not in path.as_posix():
            continue
        may = (
            *PLUGIN_MAY_IMPORT,
            *(f"{own}.{room}" for room in ("broker", "requests", "rules", "settings", "store")),
        )
        wrong += [
            f"{place(path, line)}: a service imports {module}"
            for module, _, line in imports(path)
            if module.startswith("mqframe") and not f"{module}.".startswith(tuple(f"{each}." for each in may))
        ]
    none(wrong)


COMPILED = {"mqframe_speedups._native"}
"""Modules without a source in Python: private, as what is beside them is their only caller."""


def test_nobody_imports_private_names_of_others() -> None:
    wrong = []
    for path in kernel() + plugin_sources() + plugin_tests() + sorted((ROOT / "tests").rglob("*.py")):
        for module, names, line in imports(path):
            if not module.startswith("mqframe"):
                continue
            found = {module, *(f"{module}.{name}" for name in names)} & COMPILED
            if any(each.startswith(f"{distribution(path)}.") for each in found):
                continue
            private = [w for w in [*module.split("."), *names] if w.startswith("_") and not w.endswith("__")]
            wrong += [f"{place(path, line)}: imports {name} of {module}" for name in private]
    none(wrong)


def test_files_are_short() -> None:
    allowed = RATCHET["files"]
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in kernel() + plugin_sources()}
    long = {
        path.relative_to(ROOT).as_posix(): n
        for path, n in lengths.items()
        if n > FILE_LINES_MAX and GENERATED not in (ast.get_docstring(tree_of(path)) or "")
    }
    none([f"{name}:{n} lines" for name, n in long.items() if name not in allowed])
    none([f"house_ratchet.toml: {name} is no longer needed" for name in allowed if name not in long])


def functions(
    node: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from functions(child, f"{name}.")
        elif not isinstance(child, ast.expr):  # which holds no definition
            yield from functions(child, prefix)


def test_functions_are_short() -> None:
    allowed = RATCHET["functions"]
    long = {}
    for path in kernel() + plugin_sources():
        for name, node in functions(tree_of(path)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                long[f"{path.relative_to(ROOT).as_posix()}:{name}"] = (
                    f"{place(path, node.lineno)} {name}: {lines} lines"
                )
    none([text for key, text in long.items() if key not in allowed])
    none([f"house_ratchet.toml: {key} is no longer needed" for key in allowed if key not in long])


def test_folders_are_small() -> None:
    counts = Counter(path.parent for path in kernel() + plugin_sources())
    none([f"{place(folder, 0)} {n} files" for folder, n in counts.items() if n > FOLDER_FILES_MAX])


def test_no_rooms_and_files_of_a_folder_form_a_circle() -> None:
    """In the kernel, in each plugin, and in every folder within; also for types alone."""
    allowed = RATCHET["circles"]
    found = {}
    for root in [ROOT, *sorted([*ROOT.glob("packages/*/src"), *ROOT.glob("plugins/*/src")])]:
        sources = kernel() if root == ROOT else [path for path in plugin_sources() if root in path.parents]
        imported = {path: imported_files(path, root) for path in sources}
        for folder in sorted({path.parent for path in sources}):
            arrows = arrows_in(folder, imported)
            for circle in circles(arrows):
                name = ".".join(folder.relative_to(root).parts)
                found[f"{name}: {', '.join(circle)}"] = [
                    f"{where}: {name}.{one} imports {other}"
                    for one in circle
                    for other, where in arrows[one].items()
                    if other in circle
                ]
    none(
        [
            "\n  ".join([f"{circle} form a circle: take out one of these arrows, as FLOORS says", *arrows])
            for circle, arrows in found.items()
            if circle not in allowed
        ]
    )
    none([f"house_ratchet.toml: {circle} is no longer needed" for circle in allowed if circle not in found])


@cache
def is_file(path: Path) -> bool:
    """Most arrows lead to few files, which are asked for again and again."""
    return path.exists()


def imported_files(path: Path, root: Path) -> list[tuple[Path, int]]:
    """The files below `root` that `path` imports, each with the line; none for `__version__`."""
    found = []
    for module, names, line in imports(path):
        base = root.joinpath(*module.split("."))
        for each in [base / name for name in names if not name.startswith("__")] if names else [base]:
            places = [each.with_suffix(".py"), each / "__init__.py"]
            places += [base.with_suffix(".py"), base / "__init__.py"]
            found += [(file, line) for file in places if is_file(file)][:1]
    return found


def arrows_in(folder: Path, imported: dict[Path, list[tuple[Path, int]]]) -> dict[str, dict[str, str]]:
    """For each room and file of `folder`, which others it imports, and where first."""
    arrows: dict[str, dict[str, str]] = {}
    for path, targets in imported.items():
        if folder in path.parents:
            room = path.relative_to(folder).parts[0].removesuffix(".py")
            own = arrows.setdefault(room, {})
            for target, line in targets:
                if folder in target.parents:
                    other = target.relative_to(folder).parts[0].removesuffix(".py")
                    if other != room:
                        own.setdefault(other, place(path, line))
    return arrows


def circles(arrows: dict[str, dict[str, str]]) -> list[list[str]]:
    """What reaches each other by `arrows`, each group sorted."""
    reached = {}
    for start in arrows:
        reached[start], ahead = set[str](), [start]
        while ahead:
            new = set(arrows[ahead.pop()]) - reached[start]
            reached[start] |= new
            ahead += new
    groups = {tuple(sorted(b for b in reached[a] if a in reached[b])) for a in arrows if a in reached[a]}
    return [list(group) for group in sorted(groups) if len(group) > 1]


def has_logic(path: Path) -> bool:
    """Whether a function in `path` does anything; what a script writes is tested where its pattern is."""
    tree = tree_of(path)
    if GENERATED in (ast.get_docstring(tree) or ""):
        return False
    return any(
        not isinstance(statement, ast.Pass | ast.Expr)
        or (isinstance(statement, ast.Expr) and not is_text(statement))
        for _, function in functions(tree)
        for statement in function.body
    )


def is_text(statement: ast.Expr) -> bool:
    """A docstring, or the `...` of a declaration."""
    return isinstance(statement.value, ast.Constant)


def mirrors_of(path: Path) -> list[Path]:
    """Where the tests of a source file are: in the file of its name; those of a package anywhere beside."""
    if path.is_relative_to(ROOT / "mqframe"):
        folder, inside = ROOT / "tests", path.relative_to(ROOT / "mqframe")
    else:
        source = next(parent for parent in path.parents if parent.name == "src")
        folder, inside = source.parent / "tests", Path(*path.relative_to(source).parts[1:])
    if path.name == "__init__.py":
        return sorted((folder / inside).parent.glob("test_*.py"))
    mirror = folder / inside.with_name(f"test_{path.stem.strip('_')}.py")
    return [mirror] if mirror.exists() else []


def holds_tests(path: Path) -> bool:
    return any(name.rpartition(".")[2].startswith("test") for name, _ in functions(tree_of(path))) or any(
        isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id.startswith("Test") for t in node.targets)
        for node in tree_of(path).body
    )


def test_every_file_with_logic_has_tests_of_its_own() -> None:
    allowed = set(RATCHET["without_tests"]["files"])
    without = {
        path.relative_to(ROOT).as_posix()
        for path in kernel() + plugin_sources()
        if has_logic(path) and not any(holds_tests(test) for test in mirrors_of(path))
    }
    none([f"{name}:1: no test file of its name" for name in sorted(without - allowed)])
    none([f"house_ratchet.toml: {name} is no longer needed" for name in sorted(allowed - without)])


def test_async_tests_are_async_functions() -> None:
    """No test has an inner coroutine that it only plays: `async def test_…` runs by itself."""
    played = [
        f"{_below_root(path)}:{test.name}"
        for path in _test_files()
        for test in ast.walk(tree_of(path))
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_") and _plays_a_coroutine(test)
    ]
    _keep_to_ratchet("played_coroutines", played)


def _plays_a_coroutine(test: ast.FunctionDef) -> bool:
    """Whether `test` runs a loop by itself, or does nothing with a coroutine but hand it to a player."""
    inner = {each.name for each in test.body if isinstance(each, ast.AsyncFunctionDef)}
    calls = [each for each in ast.walk(test) if isinstance(each, ast.Call)]
    if any(ast.unparse(call.func) == "asyncio.run" for call in calls):
        return True
    last = test.body[-1]
    played = last.value if isinstance(last, ast.Expr) else None
    return isinstance(played, ast.Call) and any(
        isinstance(argument, ast.Name) and argument.id in inner for argument in played.args
    )


def test_tests_do_not_sleep() -> None:
    """They move a clock, wait for an event, or for `at_rest`; outside interop, where others have the time."""
    sleeping = Counter(
        f"{_below_root(path)}:{ast.unparse(call)}"
        for path in _test_files()
        for call in ast.walk(tree_of(path))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("time.sleep", "asyncio.sleep", "sleep")
        if not (call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0)
    )
    _keep_to_ratchet("sleeping_tests", list(sleeping))


def _test_files() -> list[Path]:
    """All files of tests but for those with others' processes, and folders that the ratchet leaves out."""
    folders = (ROOT / "tests", *ROOT.glob("packages/*/tests"), *ROOT.glob("plugins/*/tests"))
    left_out = [ROOT / "tests/interop", *(ROOT / name for name in RATCHET["async_tests"]["left_out"])]
    files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return [path for path in files if not any(path.is_relative_to(folder) for folder in left_out)]


def _below_root(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _keep_to_ratchet(name: str, found: list[str]) -> None:
    """`found` are the exceptions of `name` in the ratchet, by file and what it is, and no others."""
    allowed = RATCHET[name]
    none(
        [f"{each}, which {name} of house_ratchet.toml does not name" for each in found if each not in allowed]
    )
    none([f"house_ratchet.toml: {each} is no longer needed" for each in allowed if each not in found])


def test_generated_files_are_what_their_script_writes() -> None:
    for script in ("generate_sync_api", "generate_spark_options", "generate_known_distributions"):
        command = [sys.executable, str(ROOT / f"tools/{script}.py"), "--check"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_files_are_called_after_what_they_hold() -> None:
    wrong = [
        place(path)
        for path in kernel() + plugin_sources()
        if BAD_NAMES & set(path.relative_to(ROOT).with_suffix("").parts)
    ]
    none(wrong)


def test_every_module_has_a_docstring() -> None:
    none([place(path) for path in kernel() + plugin_sources() if not ast.get_docstring(tree_of(path))])


def test_every_hook_specification_says_when_it_is_called() -> None:
    path = ROOT / "mqframe/hooks/specs.py"
    hooks = [node for node in tree_of(path).body if isinstance(node, ast.FunctionDef)]
    assert hooks
    wrong = [place(path, node.lineno) for node in hooks if "alled" not in (ast.get_docstring(node) or "")]
    none(wrong)


def test_interfaces_are_small_and_documented() -> None:
    wrong = []
    for path in sorted((ROOT / "mqframe/hooks/interfaces").rglob("*.py")):
        for cls in (node for node in nodes_of(path) if isinstance(node, ast.ClassDef)):
            methods = [node for node in cls.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
            if len(methods) > INTERFACE_METHODS_MAX:
                wrong.append(f"{place(path, cls.lineno)}: {cls.name} has {len(methods)} methods")
            undocumented = [node for node in [cls, *methods] if not ast.get_docstring(node)]
            wrong += [f"{place(path, node.lineno)}: {node.name} has no docstring" for node in undocumented]
    none(wrong)


def test_every_setting_says_what_it_means() -> None:
    wrong = []
    for path in kernel() + plugin_sources():
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef) and any(called(d, "settings") for d in node.decorator_list):
                if not ast.get_docstring(node):
                    wrong.append(f"{place(path, node.lineno)}: {node.name} has no docstring")
            elif called(node, "setting") and not documented(node):
                wrong.append(f"{place(path, node.lineno)}: a setting without doc")
    none(wrong)


def called(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def documented(node: ast.Call) -> bool:
    return any(
        keyword.arg == "doc" and not (isinstance(keyword.value, ast.Constant) and not keyword.value.value)
        for keyword in node.keywords
    )


def test_requests_are_served_by_their_classes() -> None:
    """`@serves(SendMessage)`, not a table {10: …}: a search for the class finds who serves it."""
    wrong = []
    for path in kernel() + plugin_sources() + sorted((ROOT / "tests").rglob("*.py")) + plugin_tests():
        for node in nodes_of(path):
            if called_method(node, "serve") and any(
                map(is_code, [*node.args, *(k.value for k in node.keywords)])
            ):
                wrong.append(f"{place(path, node.lineno)}: serves a request by its number")
            elif isinstance(node, ast.Assign) and any(
                isinstance(each, ast.Subscript) and is_code(each.slice) and is_handler(node.value)
                for each in node.targets
            ):
                wrong.append(f"{place(path, node.lineno)}: a handler is entered by its number")
            elif isinstance(node, ast.Dict) and any(map(is_code, node.keys)) and maps_to_handlers(node):
                wrong.append(f"{place(path, node.lineno)}: a table of handlers by numbers")
    none(wrong)


def test_the_store_knows_no_answers() -> None:
    """It raises its own errors; `core.requests.failures` says what a caller is answered."""
    answers = {"Refusal", "ResponseCode"}
    wrong = []
    for path in sorted((ROOT / "mqframe/store").rglob("*.py")):
        for _, names, line in imports(path):
            wrong += [
                f"{place(path, line)}: the store imports {name}" for name in answers.intersection(names)
            ]
        wrong += [
            f"{place(path, node.lineno)}: the store uses {node.attr}"
            for node in nodes_of(path)
            if isinstance(node, ast.Attribute) and node.attr in answers
        ]
    none(wrong)


def test_handlers_take_the_classes_that_they_are_marked_with() -> None:
    wrong = []
    for path in kernel() + plugin_sources():
        for name, node in functions(tree_of(path)):
            kinds = [arg for mark in node.decorator_list if called(mark, "serves") for arg in mark.args]
            if kinds and [arg.arg for arg in node.args.args if arg.arg != "self"] != ["fields", "call"]:
                wrong.append(f"{place(path, node.lineno)}: {name} is to take fields and call")
            elif len(kinds) == 1:
                fields = next(arg for arg in node.args.args if arg.arg == "fields")
                if fields.annotation is None or ast.dump(fields.annotation) != ast.dump(kinds[0]):
                    wrong.append(f"{place(path, node.lineno)}: {name} serves another class than it takes")
    none(wrong)


def is_code(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= LEAST_REQUEST_CODE


def maps_to_handlers(table: ast.Dict) -> bool:
    """Whether the values are methods or functions."""
    return bool(table.values) and all(map(is_handler, table.values))


def is_handler(value: ast.expr) -> bool:
    """Whether `value` looks like a method or function: `self._x`, `name`, a lambda."""
    if isinstance(value, ast.Attribute):
        return isinstance(value.value, ast.Name) and value.value.id == "self"
    return isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id.islower())


def called_method(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name


def test_the_kernel_imports_no_plugin() -> None:
    packages = {distribution(path) for path in plugin_sources()}
    assert {"mqframe_spark", "mqframe_cli"} <= packages
    wrong = []
    for path in kernel():
        # The names of other distributions that `mqframe` has are imported there for type checkers alone.
        named = [(module, line) for module, _, line in imports(path) if path != ROOT / "mqframe/__init__.py"]
        named += [
            (node.value, node.lineno)
            for node in nodes_of(path)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        wrong += [
            f"{place(path, line)}: the kernel imports {name}"
            for name, line in named
            if re.split(r"[.:]", name, maxsplit=1)[0] in packages
        ]
    none(wrong)


def test_distributions_depend_on_what_they_import() -> None:
    """Also for names of `mqframe`; but for the command line: it is there where commands are run."""
    projects = {
        distribution(path / "src"): tomllib.loads((path / "pyproject.toml").read_text())["project"]
        for path in [*ROOT.glob("packages/*"), *ROOT.glob("plugins/*")]
        if (path / "pyproject.toml").exists()
    }
    titles = {package: project["name"] for package, project in projects.items()}
    homes = {
        name: package
        for package, project in projects.items()
        for name in project.get("entry-points", {}).get("mqframe.names", {})
    }
    wrong = []
    for path in plugin_sources():
        own = distribution(path)
        needs = {re.split(r"[><=\[ ]", each, maxsplit=1)[0] for each in projects[own]["dependencies"]}
        wrong += [
            f"{place(path, line)}: {titles[own]} does not depend on {titles[other]}"
            for module, names, line in imports(path)
            for other in [
                module.partition(".")[0],
                *(homes.get(name) for name in names if module == "mqframe"),
            ]
            if other in titles and other not in (own, "mqframe_cli") and titles[other] not in needs
        ]
    none(wrong)
