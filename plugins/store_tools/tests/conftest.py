"""Stores of messages and recorded ones, as tests of the kernel's store have them; a server to send to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mqframe_testing.cluster import Cluster
from store.conftest import clock, message, opened, recorded, small

__all__ = ["at", "clock", "cluster", "message", "opened", "recorded", "small"]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """One cluster for all tests that only need one; each uses topics of its own."""
    with Cluster() as running:
        yield running


@pytest.fixture
def at(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the cluster that all tests share, also in NAMESRV_ADDR."""
    monkeypatch.setenv("NAMESRV_ADDR", cluster.nameserver)
    return cluster.nameserver
