"""A dashboard over a cluster in the process, asked without sockets by browsers that are none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from mqframe_dashboard import create_app

Get = Callable[..., Awaitable[httpx.Response]]


@asynccontextmanager
async def browser(nameserver: str, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a dashboard that runs while it is open."""
    app = create_app(nameserver, **options)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client,
    ):
        yield client


@pytest.fixture
def open_browser() -> Callable[..., Any]:
    """`browser`, for tests."""
    return browser
