"""A real etcd for the tests: one member for all of them, and others where a test stops or secures them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from etcd_servers import Certificates, EtcdCluster
from own_programs import missing

_numbers = count(1)


@pytest.fixture(scope="session")
def etcd_program() -> str:
    """Where etcd is; tests are skipped without it, and fail in CI."""
    return shutil.which("etcd") or missing("not installed: etcd")


@pytest.fixture(scope="session")
def etcd(etcd_program: str) -> Iterator[EtcdCluster]:
    """One member, which all tests share, each with a prefix of its own."""
    cluster = EtcdCluster(etcd_program)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def prefix() -> str:
    """What no other test uses."""
    return f"/test-{next(_numbers)}"


@pytest.fixture
def own_etcd(etcd_program: str) -> Iterator[Callable[..., EtcdCluster]]:
    """Starts an etcd for this test alone, of some members, perhaps with certificates."""
    made: list[EtcdCluster] = []

    def start(members: int = 1, certificates: Certificates | None = None) -> EtcdCluster:
        made.append(EtcdCluster(etcd_program, members, certificates))
        made[-1].start()
        return made[-1]

    try:
        yield start
    finally:
        for cluster in made:
            cluster.stop()
