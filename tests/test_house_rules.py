"""How the code is laid out: what may import what, how long things may be, and that all is documented."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
INTERFACE_METHODS_MAX = 9
BAD_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}

RATCHET = tomllib.loads((ROOT / "tests/house_ratchet.toml").read_text())

LEVELS = {
    "core": {"core"},
    "log": {"log"},
    "hooks": {"core", "log", "hooks"},
}
LEVELS["net"] = LEVELS["store"] = LEVELS["replication"] = LEVELS["hooks"] | {"net", "store", "replication"}
for _name in ("nameserver", "broker", "client"):
    LEVELS[_name] = LEVELS["net"] | {_name}
LEVELS["testing"] = LEVELS["net"] | {"nameserver", "broker", "client", "testing"}
LEVELS["cli"] = LEVELS["testing"] | {"cli"}
LEVELS["__init__"] = LEVELS["net"] | {"nameserver", "broker", "client"}
LEVELS["__main__"] = LEVELS["cli"]
"""What each part of the kernel may import:

cli → broker, nameserver, client → net, replication, store → hooks → core."""

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
}
"""What `core` may not know: clock, chance and the outer world are handed in."""

PLUGIN_MAY_IMPORT = (
    "mqframe.core",
    "mqframe.hooks",
    "mqframe.store.reader",
    "mqframe.log",
    "mqframe.cli.extension",
)


def kernel() -> list[Path]:
    return sorted((ROOT / "mqframe").rglob("*.py"))


def plugin_sources() -> list[Path]:
    return sorted((ROOT / "plugins").glob("*/src/**/*.py"))


def plugin_tests() -> list[Path]:
    return sorted((ROOT / "plugins").glob("*/tests/**/*.py"))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def place(path: Path, line: int = 1) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def imports(path: Path) -> Iterator[tuple[str, list[str], int]]:
    """(module, names, line) of every import, those in functions included; relative ones made absolute."""
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, [], node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module, [alias.name for alias in node.names], node.lineno


def parts_of(module: str, names: list[str]) -> set[str]:
    """The parts of the kernel that an import reaches."""
    words = module.split(".")
    if words[0] != "mqframe":
        return set()
    return {words[1]} if len(words) > 1 else {name for name in names if name in LEVELS}


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


def test_core_is_pure() -> None:
    wrong = [
        f"{place(path, line)}: core imports {module}"
        for path in kernel()
        if "core" in path.relative_to(ROOT / "mqframe").parts[:1]
        for module, _, line in imports(path)
        if module.partition(".")[0] in IMPURE
    ]
    none(wrong)


def test_plugins_import_public_names_only() -> None:
    wrong = []
    for path in plugin_sources() + plugin_tests():
        may = PLUGIN_MAY_IMPORT + (("mqframe.testing",) if path in plugin_tests() else ())
        for module, _, line in imports(path):
            ours = module == "mqframe" or any(module == name or module.startswith(name + ".") for name in may)
            key = f"{path.relative_to(ROOT).as_posix()}:{module}"
            if module.partition(".")[0] == "mqframe" and not ours and key not in RATCHET["plugin_imports"]:
                wrong.append(f"{place(path, line)}: a plugin imports {module}")
    none(wrong)


def test_nobody_imports_private_names_of_others() -> None:
    wrong = []
    for path in kernel() + plugin_sources() + plugin_tests() + sorted((ROOT / "tests").rglob("*.py")):
        for module, names, line in imports(path):
            if not module.startswith("mqframe"):
                continue
            private = [w for w in [*module.split("."), *names] if w.startswith("_") and not w.endswith("__")]
            wrong += [f"{place(path, line)}: imports {name} of {module}" for name in private]
    none(wrong)


def test_files_are_short() -> None:
    allowed = RATCHET["files"]
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in kernel() + plugin_sources()}
    long = {path.relative_to(ROOT).as_posix(): n for path, n in lengths.items() if n > FILE_LINES_MAX}
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
        else:
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
    for path in sorted((ROOT / "mqframe/hooks/interfaces").glob("*.py")):
        for cls in (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.ClassDef)):
            methods = [node for node in cls.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
            if len(methods) > INTERFACE_METHODS_MAX:
                wrong.append(f"{place(path, cls.lineno)}: {cls.name} has {len(methods)} methods")
            undocumented = [node for node in [cls, *methods] if not ast.get_docstring(node)]
            wrong += [f"{place(path, node.lineno)}: {node.name} has no docstring" for node in undocumented]
    none(wrong)


def test_every_setting_says_what_it_means() -> None:
    wrong = []
    for path in kernel() + plugin_sources():
        for node in ast.walk(tree_of(path)):
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
