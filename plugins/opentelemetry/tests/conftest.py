"""Lets tests import what they share (`telemetry`) by name, and gives each a system of its own."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mqframe_testing.cluster import Cluster

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        running.create_topic("orders", 1)
        yield running
