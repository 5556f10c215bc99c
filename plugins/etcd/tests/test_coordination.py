"""The contract of coordination with a real etcd, and what happens when that goes away."""

from __future__ import annotations

import asyncio

import pytest
from etcd_servers import EtcdCluster, coordination

from mqframe.hooks.interfaces import Coordination
from mqframe.testing.conformance import CoordinationConformance

PATIENT_SECONDS = 20.0
"""For calls that are to be answered, however busy the machine is."""


class TestEtcdConformance(CoordinationConformance):
    ttl_seconds = 3.0

    @pytest.fixture(autouse=True)
    def _etcd(self, etcd: EtcdCluster, prefix: str) -> None:
        self.options = {"endpoints": etcd.endpoints, "prefix": prefix, "timeout_seconds": PATIENT_SECONDS}

    def make(self) -> Coordination:
        return coordination(**self.options)

    async def wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
