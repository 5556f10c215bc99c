"""Apache's servers of one version after the other: each is started once, for all tests that take it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from real_time import until

from interop.apache import Apache
from interop.conftest import JavaHosts, StartJava, java_class_path, newest_and, starting
from interop.foreign_programs import LATEST, OLDER
from interop.servers import Servers
from mqframe import Admin, Producer


@pytest.fixture(scope="package", params=newest_and(OLDER, LATEST))
def version(request: pytest.FixtureRequest) -> str:
    """The version of Apache's servers."""
    found: str = request.param
    return found


@pytest.fixture(scope="package")
def class_path(version: str) -> str:
    """Jars and test client of that version."""
    return java_class_path(version)


CONF = "recallMessageEnable=true\ntransactionCheckMax=100\n"
"""The last: it asks each second, and a producer is known again after a restart once its heartbeat came."""


@pytest.fixture(scope="package")
def running(class_path: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apache]:
    """Apache's name server and broker of that version; the one before has ended."""
    with Apache(class_path, tmp_path_factory.mktemp("apache"), conf=CONF) as running:
        yield running


@pytest.fixture(scope="package")
def servers(running: Apache) -> Servers:
    """Where they are."""
    return running.servers


@pytest.fixture
def java(class_path: str, java_hosts: JavaHosts) -> Iterator[StartJava]:
    """Starts Java clients of that version; ends them with the test."""
    yield from starting(lambda arguments: java_hosts.start(class_path, arguments))


@pytest.fixture
def admin(servers: Servers) -> Iterator[Admin]:
    """An administrator."""
    with Admin(nameserver=servers.nameserver) as admin:
        yield admin


@pytest.fixture
def producer(servers: Servers) -> Iterator[Producer]:
    """A producer."""
    with Producer("versions", nameserver=servers.nameserver) as producer:
        yield producer


@pytest.fixture
def topic(admin: Admin, request: pytest.FixtureRequest) -> str:
    """A topic of four queues, named after the test."""
    name: str = request.node.originalname.removeprefix("test_")
    admin.topics.create(name, queues=4)
    until(lambda: name in admin.topics.list())
    return name
