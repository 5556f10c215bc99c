"""Certificates, and servers with clients of both kinds."""

from __future__ import annotations

from collections.abc import Callable

import certificates
import pytest
from certificates import Pems
from tls_peers import Served

from mqframe.net.settings import NetSettings


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    return certificates.make(tmp_path_factory.mktemp("pems"))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Pems:
    """Signed by somebody else."""
    return certificates.make(tmp_path_factory.mktemp("others"))


@pytest.fixture(params=["asyncio", "blocking"])
def served(request: pytest.FixtureRequest) -> Callable[[NetSettings | None], Served]:
    return lambda settings: Served(settings, request.param)
