"""Real foreign clients: jars through Maven, compiled once, run as child processes."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import certificates
import pytest
from certificates import Pems
from mqframe_testing import Cluster
from own_programs import missing
from real_time import until

from interop.apache import Apache
from interop.compatibility import Compatibility
from interop.foreign import ForeignClient, ForeignProcess, Host
from interop.foreign_programs import (
    HERE,
    NEWEST,
    OLDER,
    build_class_path,
    build_go_program,
    install_node_modules,
    java_flags,
)
from interop.guarded import GUARDED, signed
from interop.servers import Servers
from mqframe import Admin

TEXT = {"JAVA_TOOL_OPTIONS": "-Dfile.encoding=UTF-8 -Dstdout.encoding=UTF-8"}
CLIENTS_OF_A_HOST = 30
"""Then another begins: not every client leaves nothing behind."""
ALONE = {"Mqadmin", "RequestReply", "SqlOracle", "Steady"}
"""Programs with a process of their own: they do more than a client, or share what a class has."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that keeps what is proven; it is there where the command line names this folder."""
    parser.addoption("--write-compatibility", type=Path, metavar="FILE", help="keep what passed in FILE")


def pytest_configure(config: pytest.Config) -> None:
    """Watch the tests where what they prove is to be kept."""
    path: Path | None = config.getoption("--write-compatibility", None)
    if path is not None:
        config.pluginmanager.register(Compatibility(path))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to long runs how Apache's servers answer Go and Node: it is what ours are to answer."""
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        asked = params.get("servers"), params.get("asking")
        if "apache" in asked and {"go", "node"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.long)


def newest_and(*further: str) -> list[Any]:
    """Parameters: the version that every run is with, and `further` ones, which are for long runs."""
    return [NEWEST, *(pytest.param(version, marks=pytest.mark.long) for version in further)]


def need(*tools: str) -> None:
    """Skip when a tool is missing; in CI that is a failure."""
    absent = [tool for tool in tools if shutil.which(tool) is None]
    if absent:
        missing(f"not installed: {', '.join(absent)}")


def java_class_path(version: str) -> str:
    """The jars of one RocketMQ version and the compiled test client."""
    need("java", "javac", "mvn")
    return build_class_path(version)


def java_command(class_path: str, home: Path, main: str, more_flags: Sequence[str] = ()) -> list[str]:
    """What starts the class `main`; what it keeps goes below `home`."""
    flags = [
        "-Xmx256m",
        # Members look after 20 s whether others came or left, where nobody told them.
        "-Drocketmq.client.rebalance.waitInterval=1000",
        *java_flags(class_path),
        f"-Duser.home={home}",
        "-Drocketmq.client.logLevel=ERROR",
    ]
    return ["java", *flags, *more_flags, "-cp", class_path, main]


def program(arguments: Sequence[str]) -> list[str]:
    """A class and its words: a first argument that is the name of one, else `Interop`."""
    return [*([] if (HERE / f"java/{arguments[0]}.java").exists() else ["Interop"]), *arguments]


def java_client(
    class_path: str, arguments: Sequence[str], home: Path, more_flags: Sequence[str] = ()
) -> ForeignProcess:
    """Start a compiled test client, of `program(arguments)`, in a process of its own."""
    main, *words = program(arguments)
    return ForeignProcess([*java_command(class_path, home, main, more_flags), *words], TEXT)


class JavaHosts:
    """Where Java clients run: a process of each version for many of them, one after the other.

    `home`: for what they keep.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._hosts: dict[str, Host] = {}

    def start(self, class_path: str, arguments: Sequence[str]) -> ForeignClient:
        """Start a compiled test client, of `program(arguments)`."""
        words = program(arguments)
        if words[0] in ALONE:
            return java_client(class_path, arguments, self._home)
        host = self._hosts.get(class_path)
        if host is None or host.has_ended or (host.idle and host.started >= CLIENTS_OF_A_HOST):
            if host is not None:
                host.end()
            host = self._hosts[class_path] = Host(java_command(class_path, self._home, "Host"), TEXT)
        return host.start(words)

    def end(self) -> None:
        """End all of them."""
        for host in self._hosts.values():
            host.end()


StartJava = Callable[..., ForeignClient]


def starting(start: Callable[[Sequence[str]], ForeignClient]) -> Iterator[Callable[..., ForeignClient]]:
    """Yields what starts clients; ends those that it started."""
    running: list[ForeignClient] = []

    def start_one(*arguments: str) -> ForeignClient:
        running.append(start(arguments))
        return running[-1]

    yield start_one
    for client in running:
        client.end()


@pytest.fixture(scope="session", params=newest_and(OLDER))
def class_path(request: pytest.FixtureRequest) -> str:
    """Jars and test client of each version in turn."""
    return java_class_path(request.param)


@pytest.fixture(scope="session")
def java_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaHosts]:
    """Where Java clients run."""
    hosts = JavaHosts(tmp_path_factory.mktemp("java"))
    yield hosts
    hosts.end()


@pytest.fixture
def java(class_path: str, java_hosts: JavaHosts) -> Iterator[StartJava]:
    """Starts Java clients of the version under test; ends them with the test."""
    yield from starting(lambda arguments: java_hosts.start(class_path, arguments))


@pytest.fixture(scope="session")
def newest_class_path() -> str:
    """Jars and test client of the version that our servers are compared with."""
    return java_class_path(NEWEST)


@pytest.fixture
def newest_java(newest_class_path: str, java_hosts: JavaHosts) -> Iterator[StartJava]:
    """As `java`, of the newest version alone."""
    yield from starting(lambda arguments: java_hosts.start(newest_class_path, arguments))


@pytest.fixture(scope="package")
def apache(newest_class_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Apache's name server and broker, each in a process of its own.

    They end with the last test of this folder: the broker keeps a processor busy even while it is idle.
    """
    with Apache(newest_class_path, tmp_path_factory.mktemp("apache")) as running:
        yield running.servers


@pytest.fixture(scope="package")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    """Keys and certificates."""
    return certificates.make(tmp_path_factory.mktemp("pems"))


@pytest.fixture(scope="package")
def guarded(
    newest_class_path: str, tmp_path_factory: pytest.TempPathFactory, pems: Pems
) -> Iterator[Servers]:
    """Apache's servers with access control, which take TLS beside plain connections."""
    flags = [
        "-Dtls.test.mode.enable=false",
        f"-Dtls.server.certPath={pems.cert}",
        f"-Dtls.server.keyPath={pems.key}",
    ]
    home = tmp_path_factory.mktemp("guarded")
    with Apache(newest_class_path, home, conf=GUARDED, flags=flags, access=signed()) as apache:
        yield apache.servers


@pytest.fixture(scope="package")
def ours() -> Iterator[Servers]:
    """Our name server and broker, for what is asked of Apache's as well."""
    with Cluster() as running:
        yield Servers(running.nameserver, running.broker.address, "broker-a", "DefaultCluster")


@pytest.fixture(scope="package", params=["apache", "ours"])
def servers(request: pytest.FixtureRequest) -> Servers:
    """Apache's servers and ours in turn: the same is to be true of both."""
    found: Servers = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def topic(servers: Servers, request: pytest.FixtureRequest) -> str:
    """A topic of four queues, named after the test."""
    name = f"{request.path.stem}_{request.node.originalname}".replace("test_", "")
    with Admin(nameserver=servers.nameserver) as admin:
        admin.topics.create(name, queues=4)
        until(lambda: name in admin.topics.list())
    return name


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A name server and a broker in this process, on the real clock."""
    with Cluster() as running:
        yield running


@pytest.fixture(scope="session")
def go_program() -> Path:
    """The Go test client."""
    need("go")
    return build_go_program()


@pytest.fixture
def go(go_program: Path, tmp_path: Path) -> Iterator[Callable[..., ForeignClient]]:
    """Starts Go clients; ends them with the test."""

    def start(arguments: Sequence[str]) -> ForeignClient:
        return ForeignProcess([str(go_program), *arguments], {"HOME": str(tmp_path)})

    yield from starting(start)


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """What the Node test client requires."""
    need("node", "npm")
    return install_node_modules()


@pytest.fixture
def node(node_modules: Path, tmp_path: Path) -> Iterator[Callable[..., ForeignClient]]:
    """Starts Node clients; ends them with the test."""

    def start(arguments: Sequence[str]) -> ForeignClient:
        environment = {"HOME": str(tmp_path), "NODE_PATH": str(node_modules)}
        return ForeignProcess(["node", str(HERE / "node/interop.js"), *arguments], environment)

    yield from starting(start)
