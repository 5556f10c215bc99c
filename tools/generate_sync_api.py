"""Writes the sync API of the clients: classes that only forward to the asyncio classes they are made from.

    python tools/generate_sync_api.py            write the files
    python tools/generate_sync_api.py --check    fail when a file is not what would be written

Public methods, properties and attributes of an asyncio class, and its `__aiter__`, become methods and
properties of the same names, with the same parameters, defaults, types and docstrings; an `AsyncGenerator`
becomes an `Iterator`. What the base class of a generated class has itself is written by hand. Parameters that
belong to a loop (`instance`, `clock`) stay behind, and so does the paragraph of a docstring that begins with
"Only here".

An attribute of a client whose class has a spec of its own is a subject of it: the generated client holds the
generated subject, which forwards to the asyncio one.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

ROOT = Path(__file__).resolve().parents[1]
CLIENT = "mqframe.client"
TRANSACTIONS = "mqframe_transactions.client"
PULLS = "mqframe_pull"
OF_CLIENTS = re.compile(r"mqframe(_\w+)?\.client\.|mqframe_pull\.")
"""Modules of the clients: those of the kernel, and of distributions that bring more of them."""
LOOP_PARAMETERS = {"instance", "clock", "randomness"}
LISTENER_TYPES = {"AssignmentListener", "QueuesListener", "RevocationListener"}
"""Types of functions of the application that are called on the loop; they go through `called_in_thread`."""

LOOPS = {"__aiter__": "__iter__"}
"""What makes a class one that can be looped over, by names of the asyncio API."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Spec(NamedTuple):
    """One generated class.

    `source`: module and class of the asyncio one; `target`: module of the new one; `base`: module and class
    that carries its calls; `arguments`: after the asyncio object, for the base's constructor. `forwarded`:
    names of the only members that are forwarded to the asyncio object; where it is given, the bodies of all
    others are transcribed, for the calling thread. `about`: the last paragraph of the docstring.
    """

    source: str
    target: str
    name: str
    base: str
    arguments: str = ""
    forwarded: frozenset[str] | None = None
    about: str = (
        "The work is done on a loop in a thread of its own; any thread may call any method. After a\n"
        "fork every method raises `ClosedError`."
    )


SYNC = f"{CLIENT}.connection.sync_api"
ADMIN = "mqframe_admin.client"
SUBJECT = f"{ADMIN}.blocking.subject:SyncSubject"
ADMIN_SUBJECTS = {
    "allocation": "AllocationAdmin",
    "brokers": "BrokerAdmin",
    "cluster": "ClusterAdmin",
    "dead_letters": "DeadLetterAdmin",
    "groups": "GroupAdmin",
    "kv": "KvAdmin",
    "members": "MemberAdmin",
    "messages": "MessageAdmin",
    "offsets": "OffsetAdmin",
    "policies": "PolicyAdmin",
    "queue_expansion": "QueueExpansionAdmin",
    "topic_moves": "TopicMoveAdmin",
    "replicas": "ReplicaAdmin",
    "topics": "TopicAdmin",
    "users": "UserAdmin",
}
"""Module in `ADMIN`, and class."""
SPECS = [
    Spec(
        f"{CLIENT}.sending.producer:AsyncProducer",
        f"{CLIENT}.sending.blocking_producer",
        "Producer",
        f"{CLIENT}.sending.producer_thread:ProducerThread",
        forwarded=frozenset({"client_id", "request"}),
        about=(
            "May be shared by any number of threads. The calling thread itself writes to and waits at the\n"
            "socket; one thread beside polls routes, sends heartbeats and packs what was submitted."
        ),
    ),
    Spec(
        f"{TRANSACTIONS}.producer:AsyncTransactionProducer",
        f"{TRANSACTIONS}.blocking_producer",
        "TransactionProducer",
        f"{TRANSACTIONS}.producer_thread:TransactionThread",
        forwarded=frozenset(),
        about=(
            "The thread that sends does the local transaction; brokers that ask are answered by\n"
            "`check_workers` threads. Raises `FixError` for a listener with `async def` methods."
        ),
    ),
    Spec(
        f"{TRANSACTIONS}.batch_producer:AsyncBatchTransactionProducer",
        f"{TRANSACTIONS}.blocking_batch_producer",
        "BatchTransactionProducer",
        f"{TRANSACTIONS}.producer_thread:BatchTransactionThread",
        about="May be shared by any number of threads; halves are sent by the thread beside.",
    ),
    Spec(
        f"{ADMIN}.admin:AsyncAdmin",
        f"{ADMIN}.blocking.admin",
        "Admin",
        f"{SYNC}:SyncClient",
        '"admin"',
    ),
    *(
        Spec(f"{ADMIN}.{module}:Async{name}", f"{ADMIN}.blocking.{module}", name, SUBJECT, about="")
        for module, name in ADMIN_SUBJECTS.items()
    ),
    Spec(
        f"{CLIENT}.consuming.push.consumer:AsyncPushConsumer",
        f"{CLIENT}.consuming.push.blocking_consumer",
        "PushConsumer",
        f"{CLIENT}.connection.sync_runner:SyncRunner",
        '"consumer", group',
    ),
    Spec(
        f"{PULLS}.lite_pull.consumer:AsyncLitePullConsumer",
        f"{PULLS}.lite_pull.blocking_consumer",
        "LitePullConsumer",
        f"{SYNC}:SyncClient",
        '"consumer", group',
    ),
    Spec(
        "mqframe_pop.client.consumer:AsyncSimpleConsumer",
        "mqframe_pop.client.blocking_consumer",
        "SimpleConsumer",
        f"{SYNC}:SyncClient",
        '"consumer", group',
    ),
    Spec(
        f"{PULLS}.puller.puller:AsyncPuller",
        f"{PULLS}.puller.blocking_puller",
        "Puller",
        f"{PULLS}.puller.blocking_transport:BlockingPullCalls",
        about="The calling thread itself writes to and waits at the socket; many threads may share one.",
    ),
]


SUBJECTS = {spec.source.partition(":")[2]: spec for spec in SPECS if spec.base == SUBJECT}
"""By the name of the asyncio class."""


class Source:
    """An asyncio class: its public members in order of definition, bases first, and where names come from."""

    def __init__(self, path: str) -> None:
        module, _, name = path.partition(":")
        self.cls: type = getattr(importlib.import_module(module), name)
        self.module = module
        self._trees: dict[str, ast.Module] = {}
        self.overloads: dict[str, list[Function]] = {}

    def tree(self, module: str) -> ast.Module:
        """The syntax tree of `module`."""
        if module not in self._trees:
            self._trees[module] = ast.parse(Path(str(sys.modules[module].__file__)).read_text("utf-8"))
        return self._trees[module]

    def node(self, cls: type) -> ast.ClassDef:
        """The definition of `cls`."""
        found = [node for node in self.tree(cls.__module__).body if isinstance(node, ast.ClassDef)]
        return next(node for node in found if node.name == cls.__name__)

    def members(self) -> Iterator[tuple[str, str, Function | ast.AnnAssign, str]]:
        """Name, module, node and docstring of each public member; those of the class itself come last."""
        seen: dict[str, tuple[str, Function | ast.AnnAssign, str]] = {}
        self.overloads.clear()
        for cls in reversed(self.cls.__mro__[:-1]):
            if not OF_CLIENTS.match(cls.__module__):
                continue
            body = self.node(cls).body
            for node, after in zip(body, [*body[1:], None], strict=True):
                if isinstance(node, Function) and is_overload(node):
                    self.overloads.setdefault(node.name, []).append(node)
                    continue
                if isinstance(node, Function):
                    name, doc = node.name, ast.get_docstring(node) or ""
                elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                    name, doc = node.target.id, text_of(after)
                else:
                    continue
                if not name.startswith("_") or name in LOOPS:
                    seen.pop(name, None)
                    seen[name] = (cls.__module__, node, doc)
        for name, (module, node, doc) in seen.items():
            yield name, module, node, doc

    def constructor(self) -> tuple[str, Function]:
        """Module and node of the constructor."""
        cls = next(each for each in self.cls.__mro__ if "__init__" in vars(each))
        return cls.__module__, next(
            node for node in self.node(cls).body if isinstance(node, Function) and node.name == "__init__"
        )

    def origin(self, module: str, name: str) -> tuple[str, str] | None:
        """Module and name that `name`, used in `module`, is imported from; `None` for a builtin."""
        for node in self.tree(module).body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if name == (alias.asname or alias.name):
                        return str(node.module), alias.name
            elif isinstance(node, ast.Import) and name in {alias.name for alias in node.names}:
                return name, ""
        if hasattr(sys.modules[module], name):
            return module, name
        return None if name.startswith("Async") else self.sync_origin(module, name)

    def sync_origin(self, module: str, name: str) -> tuple[str, str] | None:
        """Where the class of the sync API is that stands for the asyncio one which `module` uses."""
        found = self.origin(module, f"Async{name}")
        return found and (found[0], name)


def is_overload(node: Function) -> bool:
    """Whether `node` only says to type checkers what a method takes."""
    return any(ast.unparse(each) == "overload" for each in node.decorator_list)


def text_of(node: ast.stmt | None) -> str:
    """The string that `node` is; else nothing."""
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        return inspect.cleandoc(node.value.value)
    return ""


def subject_of(node: ast.AST) -> Spec | None:
    """What the class is generated by that stands for the one of an attribute, where it is a subject."""
    return SUBJECTS.get(ast.unparse(node.annotation)) if isinstance(node, ast.AnnAssign) else None


def sync_text(text: str) -> str:
    """A docstring of the asyncio class as the sync one has it."""
    paragraphs = [each for each in text.split("\n\n") if not each.startswith("Only here")]
    text = "\n\n".join(paragraphs)
    for old, new in (
        (r"\basync (with|for)\b", r"\1"),
        (r"\bawait ", ""),
        (r"\b([Aa])n `Async", r"\1 `"),
        (r"\bAsync([A-Z]\w+)", r"\1"),
    ):
        text = re.sub(old, new, text)
    return text.replace("an `with`", "a `with`")


def docstring(text: str) -> str:
    """`text` as a docstring statement, not indented."""
    return f'"""{text}"""' if "\n" not in text else f'"""{text}\n"""'


def parameters(node: Function) -> ast.arguments:
    """The parameters of `node` without those that belong to a loop."""
    given = node.args
    assert not given.posonlyargs
    assert given.vararg is None
    kept = [
        (argument, default)
        for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)
        if argument.arg not in LOOP_PARAMETERS
    ]
    return ast.arguments(
        posonlyargs=[],
        args=given.args,
        defaults=given.defaults,
        kwonlyargs=[argument for argument, _ in kept],
        kw_defaults=[default for _, default in kept],
        kwarg=given.kwarg and SyncNames().visit(given.kwarg),
    )


def passed_on(arguments: ast.arguments) -> list[str]:
    """What hands `arguments` to a function with the same parameters."""

    def value(argument: ast.arg) -> str:
        kind = ast.unparse(argument.annotation) if argument.annotation else ""
        if any(name in kind for name in LISTENER_TYPES):
            return f"called_in_thread({argument.arg})"
        # A generator of the caller must not run on the client's loop.
        return f"tuple({argument.arg})" if kind.startswith("Iterable[") else argument.arg

    plain = [value(argument) for argument in arguments.args if argument.arg != "self"]
    rest = [f"**{arguments.kwarg.arg}"] if arguments.kwarg else []
    return plain + [f"{argument.arg}={value(argument)}" for argument in arguments.kwonlyargs] + rest


def uses_public_names_only(node: Function) -> bool:
    """Whether a method works by public methods alone, so that it is right for both classes as it stands."""
    return not any(isinstance(part, ast.Attribute) and part.attr.startswith("_") for part in ast.walk(node))


class Writer:
    """Writes the module of one spec."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._source = Source(spec.source)
        module, _, name = spec.base.partition(":")
        self._base: type = getattr(importlib.import_module(module), name)
        self._imports: set[tuple[str, str]] = {(module, name)}
        self._is_subject = spec.base == SUBJECT
        self._on_a_loop = any(each.__module__ == SYNC for each in self._base.__mro__)

    def text(self) -> str:
        """The module, formatted."""
        spec, cls = self._spec, cast("Any", self._source.cls)
        section = "" if self._is_subject else f"_section = {cls._section!r}"
        parts = [docstring(self._class_text()), section, *self._members()]
        body = textwrap.indent("\n\n".join(part for part in parts if part), "    ")
        base = self._base.__name__
        if getattr(self._base, "__parameters__", ()):
            base += f"[{self._use(self._source.module, cls.__name__)}]"
        head = (
            f'"""{spec.name}: `{cls.__name__}` for plain threads.\n\n'
            f"Generated from {cls.__module__}, not to be edited:\n"
            "run `python tools/generate_sync_api.py`.\n"
            '"""'
        )
        code = f"class {spec.name}({base}):\n{body}\n"
        imports = "\n".join(sorted(import_line(*each) for each in self._imports))
        text = f"{head}\n\nfrom __future__ import annotations\n\n{imports}\n\n{code}"
        return formatted(text, path_of(spec.target))

    def _class_text(self) -> str:
        return f"{sync_text(inspect.getdoc(self._source.cls) or '')}\n\n{self._spec.about}".rstrip()

    def _members(self) -> Iterator[str]:
        by_hand = {
            name
            for each in self._base.__mro__[:-1]
            for name in [*vars(each), *vars(each).get("__annotations__", {})]
        }
        if self._on_a_loop and not self._is_subject:
            by_hand -= {"start", "stop"}
            yield from self._subjects()
            yield self._constructor()
        for name, module, node, text in self._source.members():
            if name not in by_hand and not subject_of(node):
                yield self._overloads(name, module) + self._member(
                    name, module, node, docstring(sync_text(text))
                )

    def _subjects(self) -> Iterator[str]:
        """The attributes of the class that hold its subjects."""
        for name, _, node, text in self._source.members():
            subject = subject_of(node)
            if subject is not None:
                yield f"{name}: {self._use(subject.target, subject.name)}\n{docstring(sync_text(text))}"

    def _constructor(self) -> str:
        module, node = self._source.constructor()
        arguments = parameters(node)
        self._need(module, arguments)
        cls = self._use(self._source.module, self._source.cls.__name__)
        handed = [f"{cls}({', '.join(passed_on(arguments))})", self._spec.arguments]
        head = f"def __init__({ast.unparse(arguments)}) -> None"
        lines = [f"super().__init__({', '.join(filter(None, handed))})"]
        for name, _, attribute, _ in self._source.members():
            subject = subject_of(attribute)
            if subject is not None:
                lines.append(f"self.{name} = {subject.name}(self, self._client.{name})")
        return f"{head}:\n" + textwrap.indent("\n".join(lines), "    ")

    def _overloads(self, name: str, module: str) -> str:
        """What stands before the method `name` for type checkers."""
        found = self._source.overloads.get(name, [])
        if found:
            self._imports.add(("typing", "overload"))
        for node in found:
            self._need(module, node.args, *filter(None, [node.returns]))
        heads = [
            f"def {name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}"
            for node in found
            if node.returns is not None
        ]
        return "".join(f"@overload\n{head}: ...\n" for head in heads)

    def _member(self, name: str, module: str, node: Function | ast.AnnAssign, doc: str) -> str:
        if isinstance(node, ast.AnnAssign):
            self._need(module, node.annotation)
            kind, body = ast.unparse(node.annotation), f"return self._client.{name}"
            return function(f"@property\ndef {name}(self) -> {kind}", doc, body)
        assert node.returns is not None
        if ast.unparse(node.returns).startswith("AsyncGenerator["):
            return self._loop(name, module, node, doc)
        node.returns = SyncNames().visit(node.returns)
        kind = ast.unparse(node.returns)
        if any(ast.unparse(each) == "property" for each in node.decorator_list):
            self._need(module, node.returns)
            body = f"return self._do(lambda: self._client.{name})"
            if self._is_transcribed(name):
                body = self._transcribed(module, node)
            return function(f"@property\ndef {name}(self) -> {kind}", doc, body)
        self._need(module, node.args, node.returns)
        head = f"def {name}({ast.unparse(node.args)}) -> {kind}"
        if name in ("start", "stop"):
            return function(head, doc, f"super().{name}()")
        if self._is_transcribed(name) or (isinstance(node, ast.FunctionDef) and uses_public_names_only(node)):
            return function(head, doc, self._transcribed(module, node))
        how = "_call" if isinstance(node, ast.AsyncFunctionDef) else "_do"
        if kind.startswith("Future["):
            how = "_submit"
            self._imports.add(("concurrent.futures", "Future"))
        handed = passed_on(node.args)
        if any("called_in_thread(" in each for each in handed):
            self._imports.add((SYNC, "called_in_thread"))
        result = "" if kind == "None" else "return "
        return function(head, doc, f"{result}self.{how}({', '.join([f'self._client.{name}', *handed])})")

    def _loop(self, name: str, module: str, node: Function, doc: str) -> str:
        """A method that returns what can be looped over."""
        assert isinstance(node.returns, ast.Subscript)
        assert isinstance(node.returns.slice, ast.Tuple)
        found = node.returns.slice.elts[0]
        self._need(module, node.args, found)
        self._imports |= {("collections.abc", "Iterator"), (SYNC, "looped")}
        body = f"return looped(self, self._client.{name}({', '.join(passed_on(node.args))}))"
        head = f"def {LOOPS.get(name, name)}({ast.unparse(node.args)}) -> Iterator[{ast.unparse(found)}]"
        return function(head, doc, body)

    def _is_transcribed(self, name: str) -> bool:
        return self._spec.forwarded is not None and name not in self._spec.forwarded

    def _transcribed(self, module: str, node: Function) -> str:
        statements = node.body[1:] if ast.get_docstring(node) else node.body
        if isinstance(node, ast.AsyncFunctionDef):
            self._imports.add((f"{CLIENT}.sending.blocking_transport", "run_blocking"))
        changed = [SyncNames().visit(Unawait().visit(each)) for each in statements]
        self._need(module, *changed)
        return "\n".join(ast.unparse(ast.fix_missing_locations(each)) for each in changed)

    def _need(self, module: str, *nodes: ast.AST) -> None:
        local = {part.arg for node in nodes for part in ast.walk(node) if isinstance(part, ast.arg)}
        for node in nodes:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and part.id not in local | {"self"}:
                    found = self._source.origin(module, part.id)
                    if found is not None:
                        self._imports.add(found)

    def _use(self, module: str, name: str) -> str:
        self._imports.add((module, name))
        return name


class SyncNames(ast.NodeTransformer):
    """Replaces names of the asyncio API by those of the sync one."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """One name."""
        return ast.Name(re.sub(r"^Async(?=[A-Z])", "", node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """One attribute: a future of a loop becomes one of threads."""
        self.generic_visit(node)
        return ast.Name("Future", node.ctx) if ast.unparse(node) == "asyncio.Future" else node


class Unawait(ast.NodeTransformer):
    """Replaces `await x` by `run_blocking(x)`."""

    def visit_Await(self, node: ast.Await) -> Any:
        """One `await`."""
        self.generic_visit(node)
        return ast.Call(ast.Name("run_blocking", ast.Load()), [node.value], [])


def function(head: str, doc: str, body: str) -> str:
    """A function of its parts."""
    return f"{head}:\n" + textwrap.indent(f"{doc}\n{body}", "    ")


def import_line(module: str, name: str) -> str:
    """The import of `name`, or of a whole module."""
    return f"from {module} import {name}" if name else f"import {module}"


def path_of(module: str) -> Path:
    """The file of a module, of the kernel or of a plugin."""
    package, _, _ = module.partition(".")
    top = next((each.parent for each in ROOT.glob(f"plugins/*/src/{package}")), ROOT)
    return top.joinpath(*module.split(".")).with_suffix(".py")


def formatted(code: str, path: Path) -> str:
    """`code`, of the file at `path`, as the project formats it."""
    for command in (["check", "--select", "I,F401", "--fix", "--quiet"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(path), "-"]
        code = subprocess.run(ruff, input=code, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return code


def main(arguments: list[str]) -> int:
    """Write all files, or with --check name those that differ; the exit code."""
    wrong = []
    for spec in SPECS:
        path = path_of(spec.target)
        text = Writer(spec).text()
        if not path.exists() or path.read_text("utf-8") != text:
            wrong.append(str(path.relative_to(ROOT)))
            if "--check" not in arguments:
                path.write_text(text, "utf-8")
    for name in wrong:
        print(f"{name} differs" if "--check" in arguments else f"{name} written")
    return int(bool(wrong) and "--check" in arguments)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
