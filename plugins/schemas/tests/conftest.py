"""Lets tests import what they share (`message_types`) by name; a cluster for each file that wants one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqframe_testing import Cluster

from mqframe import Admin

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as made:
        yield made


@pytest.fixture(scope="module")
def admin(cluster: Cluster) -> Iterator[Admin]:
    with Admin(nameserver=cluster.nameserver) as made:
        yield made
