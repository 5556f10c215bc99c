"""Pages of the dashboard, asked without sockets of its own, about servers of whatever make."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import httpx
from mqframe_dashboard import create_app
from real_time import SECONDS_MAX


def check_pages(nameserver: str, wanted: Mapping[str, Sequence[str]]) -> None:
    """Fails unless each page is there and shows, sooner or later, each of its texts."""
    asyncio.run(_check(nameserver, wanted))


async def _check(nameserver: str, wanted: Mapping[str, Sequence[str]]) -> None:
    app = create_app(nameserver)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        asyncio.timeout(SECONDS_MAX),
    ):
        for path, texts in wanted.items():
            while True:
                answer = await client.get(path)
                assert answer.status_code == 200, answer.text
                missing = [text for text in texts if text not in answer.text]
                if not missing:
                    break
                print(path, "lacks yet", missing)  # shown where the time is over
                await asyncio.sleep(0.2)
