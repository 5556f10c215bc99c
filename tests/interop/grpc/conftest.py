"""A door, and the official clients of each language that knock there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from mqframe_testing import Cluster
from mqframe_transactions.settings import TransactionSettings

from interop.conftest import need
from interop.grpc.apache_proxy import ApacheProxy
from interop.grpc.clients import ClientProgram, Clients
from interop.grpc.doors import INVISIBLE_MIN_MS, POLLING_MS, Door
from interop.grpc.our_proxy import OurProxy
from interop.grpc.programs import LANGUAGES, TOOLS
from mqframe import PluginManager
from mqframe.net.access.settings import AccessSettings

StartProgram = Callable[[str], ClientProgram]
MAIN_WAYS = {
    "test_a_message_in_all_its_parts",
    "test_a_push_consumer_gets_each_message_once",
    "test_a_simple_consumer_acknowledges_changes_and_leaves",
    "test_order_within_message_groups",
    "test_a_transaction_that_nobody_ended_is_asked_about",
}
CHECKS = TransactionSettings(timeout_ms=4_000, check_interval_ms=1_000)
STORE = {"commit_log_file_bytes": 16 << 20}
OPERATOR = {"access_key": "operator", "secret_key": "12345678"}
GUARDED = AccessSettings(
    authentication="acl2",
    authorization="acl2",
    initial_user="operator:12345678",
    inner_credentials="inner:12345678",
)


def grpc_port(cluster: Cluster) -> object:
    """Where the door of its broker listens."""
    offered = cluster.broker.service_port.offered("grpc.port")
    assert offered is not None
    return offered()


@pytest.fixture(scope="package")
def apache_door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    """Apache's proxy, with which ours is compared."""
    need(*TOOLS["java"])
    with ApacheProxy(tmp_path_factory.mktemp("proxy")) as running:
        yield running.door


@pytest.fixture(scope="package")
def our_door() -> Iterator[Door]:
    """A broker of ours with the service `grpc`, in this process."""
    low, high = POLLING_MS
    options = {"polling_min_ms": low, "polling_max_ms": high, "invisible_min_ms": INVISIBLE_MIN_MS}
    plugins = PluginManager().configured({"grpc": {"port": 0, **options}})
    broker = {"services": ("grpc",)}
    with Cluster(plugins=plugins, broker=broker, store=STORE, sections=[CHECKS]) as running:
        yield Door(f"127.0.0.1:{grpc_port(running)}", running.nameserver)


@pytest.fixture(scope="package")
def proxy_door() -> Iterator[Door]:
    """`mqframe proxy` before two brokers of ours, which have no door of their own."""
    with (
        Cluster(2, store=STORE, sections=[CHECKS]) as running,
        OurProxy(running.nameserver, brokers=2) as proxy,
    ):
        yield proxy.door


@pytest.fixture(scope="package")
def guarded_door() -> Iterator[Door]:
    """A broker of ours that asks who calls."""
    plugins = PluginManager().configured({"grpc": {"port": 0}})
    cluster = Cluster(plugins=plugins, broker={"services": ("grpc",)})
    cluster.cluster.enforce(GUARDED)
    with cluster as running:
        yield Door(f"127.0.0.1:{grpc_port(running)}", running.nameserver, operator=OPERATOR)


@pytest.fixture(scope="package", params=["our", "proxy", pytest.param("apache", marks=pytest.mark.long)])
def door(request: pytest.FixtureRequest) -> Door:
    """Where clients knock: the same is to be true of all."""
    found: Door = request.getfixturevalue(f"{request.param}_door")
    return found


@pytest.fixture(scope="package")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartProgram]:
    """Gives the program of a language, which runs until the last test of this folder."""
    running: dict[str, ClientProgram] = {}

    def program(language: str) -> ClientProgram:
        if language not in running or running[language].process.poll() is not None:
            running[language] = ClientProgram(language, tmp_path_factory.mktemp(language))
        return running[language]

    yield program
    for each in running.values():
        each.end()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of Java and Python the usual run tries all, and through our proxy the main ways; of Go and Node the
    main ways; of Rust none. The long one tries the rest.
    """
    for item in items:
        params = getattr(getattr(item, "callspec", None), "params", {})
        if "language" not in params:
            continue
        aside = (params["language"] not in ("java", "python")) + (params.get("door") == "proxy")
        tried = aside <= (getattr(item, "originalname", "") in MAIN_WAYS)
        if not tried or params["language"] == "rust":
            item.add_marker(pytest.mark.long)


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    """Whose clients are tested."""
    found: str = request.param
    need(*TOOLS[found])
    return found


@pytest.fixture
def clients(language: str, door: Door, programs: StartProgram) -> Iterator[Clients]:
    """Makes clients of a language, which end with the test."""
    made = Clients(programs(language), door)
    yield made
    made.end()


@pytest.fixture
def others(language: str, door: Door, tmp_path: Path) -> Iterator[Callable[[], Clients]]:
    """Gives what makes clients in a process of its own, which a test may kill."""
    with ExitStack() as running:

        def start() -> Clients:
            program = ClientProgram(language, tmp_path)
            running.callback(program.end)
            return Clients(program, door)

        yield start


@pytest.fixture
def name(request: pytest.FixtureRequest, language: str) -> str:
    """For a test's topic and group, which no other test has."""
    return f"{language}_{request.node.originalname}".replace("test_", "")
