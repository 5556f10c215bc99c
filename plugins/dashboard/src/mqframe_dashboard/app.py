"""The ASGI application: which page is where, what a failure looks like, and what browsers may do with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mqframe import AsyncAdmin, AsyncPuller
from mqframe.core.errors import AnswerError, GiveUpError, MqframeError, RetryError
from mqframe_dashboard.asking import Asking, NoAnswer, NotFound
from mqframe_dashboard.html import page_html, problem_html
from mqframe_dashboard.pages.brokers import broker_page, cluster_page, configuration_page
from mqframe_dashboard.pages.clients import clients_page
from mqframe_dashboard.pages.groups import group_page, groups_page
from mqframe_dashboard.pages.letters import letter_page, letters_page
from mqframe_dashboard.pages.messages import message_page, messages_page
from mqframe_dashboard.pages.topics import topic_page, topics_page
from mqframe_dashboard.protection import Protection
from mqframe_dashboard.query import BadQuery, Query
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.view import Page

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "::1")
PAGE_SECONDS: Final = 15.0
"""What all questions of one page may take together."""
Gather = Callable[[Asking, Samples, Query], Awaitable[Page]]
PAGES: Final[dict[str, Gather]] = {
    "/": cluster_page,
    "/broker": broker_page,
    "/topics": topics_page,
    "/topic": topic_page,
    "/groups": groups_page,
    "/group": group_page,
    "/messages": messages_page,
    "/message": message_page,
    "/letters": letters_page,
    "/letter": letter_page,
    "/clients": clients_page,
    "/configuration": configuration_page,
}


def create_app(
    nameserver: str = "",
    *,
    trusted_hosts: Sequence[str] = LOOPBACK_HOSTS,
    interval: float = 10.0,
    **access: Any,
) -> Starlette:
    """The dashboard of the cluster at `nameserver`, "host:port;host:port", as an ASGI application.

    `trusted_hosts`: names by which browsers may reach it, "*" for any; `interval`: seconds between two looks
    at the rates of topics; `access`: further arguments of `AsyncAdmin`: `net`, `plugins`, `rpc_hooks`.
    Raises `SettingError` for settings that make no sense. It is served once: its lifespan ends its clients.
    """
    admin = AsyncAdmin(nameserver=nameserver, **access)
    puller = AsyncPuller(nameserver=nameserver, **access)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with admin, puller:
            app.state.asking = Asking(admin, puller)
            app.state.samples = Samples(app.state.asking, interval)
            sampling = asyncio.create_task(app.state.samples.run())
            try:
                yield
            finally:
                sampling.cancel()
                await asyncio.gather(sampling, return_exceptions=True)

    routes: list[Route | Mount] = [Route(path, _endpoint(gather)) for path, gather in PAGES.items()]
    routes.append(Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")))
    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Protection, trusted_hosts=trusted_hosts)],
        exception_handlers={HTTPException: _refused},
    )


def _endpoint(gather: Gather) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        asking: Asking = request.app.state.asking
        try:
            async with asyncio.timeout(PAGE_SECONDS):
                page = await gather(asking, request.app.state.samples, Query(request.query_params))
        except TimeoutError:
            return _problem(
                NoAnswer(f"the cluster needed more than {PAGE_SECONDS:g} s for this page"), asking
            )
        except MqframeError as problem:
            return _problem(problem, asking)
        return HTMLResponse(page_html(page, request.url.path))

    return answer


def _problem(problem: MqframeError, asking: Asking) -> Response:
    status, title = _kind_of(problem)
    headers = {"Retry-After": "5"} if status == 503 else None
    return HTMLResponse(problem_html(title, str(problem), asking.last_heard, status), status, headers)


def _kind_of(problem: MqframeError) -> tuple[int, str]:
    """Status code and title."""
    if isinstance(problem, BadQuery):
        return 400, "This address makes no sense"
    if isinstance(problem, NotFound):
        return 404, "Not found"
    if isinstance(problem, RetryError):
        return 503, "The cluster does not answer"
    if isinstance(problem, AnswerError):
        return 502, "The cluster refused"
    if isinstance(problem, GiveUpError):
        return 502, "The cluster's answer was not understood"
    return 503, "The cluster cannot be asked"  # no broker is registered, or TLS does not fit


async def _refused(request: Request, problem: Exception) -> Response:
    """What the framework refuses: no such page, another method than GET."""
    assert isinstance(problem, HTTPException)
    said = (
        "The dashboard only reads: GET is all that it answers."
        if problem.status_code == 405
        else "There is no such page."
    )
    return HTMLResponse(
        problem_html(problem.detail, said, None, problem.status_code), problem.status_code, problem.headers
    )
