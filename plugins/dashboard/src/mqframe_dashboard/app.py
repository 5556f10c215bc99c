"""The ASGI application: which page is where, what a failure looks like, and what browsers may do with it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mqframe import AsyncAdmin, AsyncPuller
from mqframe.core.errors import AnswerError, GiveUpError, MqframeError, RetryError
from mqframe_dashboard.alarms.watch import AlarmWatch
from mqframe_dashboard.asking import Asking, NoAnswer, NotFound
from mqframe_dashboard.changes.assembly import CHANGES, open_desk
from mqframe_dashboard.changes.desk import SIGN_IN, Desk
from mqframe_dashboard.changes.offers import offers
from mqframe_dashboard.changes.rejection import Rejection
from mqframe_dashboard.export import choose_page, export
from mqframe_dashboard.form_parts import NOBODY, Visitor
from mqframe_dashboard.html import page_html, problem_html
from mqframe_dashboard.pages.alarms import alarms_page
from mqframe_dashboard.pages.brokers import broker_page, cluster_page, configuration_page
from mqframe_dashboard.pages.clients import clients_page
from mqframe_dashboard.pages.delayed import delayed_page
from mqframe_dashboard.pages.groups import group_page, groups_page
from mqframe_dashboard.pages.halves import halves_page
from mqframe_dashboard.pages.letters import letter_page, letters_page
from mqframe_dashboard.pages.messages import message_page, messages_page
from mqframe_dashboard.pages.panel import panel_page
from mqframe_dashboard.pages.replication import replication_page
from mqframe_dashboard.pages.schemas import schemas_page
from mqframe_dashboard.pages.topics import topic_page, topics_page
from mqframe_dashboard.pages.trace import trace_page
from mqframe_dashboard.panels import Panels, panel_parts
from mqframe_dashboard.protection import Protection
from mqframe_dashboard.query import BadQuery, Query
from mqframe_dashboard.sampling import Samples
from mqframe_dashboard.surroundings import frame_of
from mqframe_dashboard.view import Links, Page

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "::1")
PAGE_SECONDS: Final = 15.0
"""What all questions of one page may take together."""
POSTED_SECONDS: Final = 90.0
"""What a change may take, which is told when it is over."""
Gather = Callable[[Asking, Samples, Query], Awaitable[Page]]
PAGES: Final[dict[str, Gather]] = {
    "/": cluster_page,
    "/broker": broker_page,
    "/replication": replication_page,
    "/topics": topics_page,
    "/topic": topic_page,
    "/groups": groups_page,
    "/group": group_page,
    "/messages": messages_page,
    "/message": message_page,
    "/trace": trace_page,
    "/delayed": delayed_page,
    "/halves": halves_page,
    "/letters": letters_page,
    "/letter": letter_page,
    "/choose": choose_page,
    "/schemas": schemas_page,
    "/clients": clients_page,
    "/configuration": configuration_page,
}


def create_app(
    nameserver: str = "",
    *,
    trusted_hosts: Sequence[str] = LOOPBACK_HOSTS,
    interval: float = 10.0,
    sign_in: str = "",
    **access: Any,
) -> Starlette:
    """The dashboard of the cluster at `nameserver`, "host:port;host:port", as an ASGI application.

    `trusted_hosts`: names by which browsers may reach it, "*" for any; `interval`: seconds between two looks
    at the rates of topics; `sign_in`: who may sign in and change things, "" for nobody, "cluster" for users
    of its access control, "file:PATH" for those of a file; `access`: further arguments of `AsyncAdmin`:
    `net`, `plugins`, `rpc_hooks`.
    Raises `SettingError` for settings that make no sense. It is served once: its lifespan ends its clients.
    """
    admin = AsyncAdmin(nameserver=nameserver, **access)
    puller = AsyncPuller(nameserver=nameserver, **access)
    asking = Asking(admin, puller)
    desk = open_desk(sign_in, asking, {"nameserver": nameserver, **access})

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with admin, puller:
            app.state.asking, app.state.desk = asking, desk
            app.state.panels = Panels()
            app.state.samples = samples = Samples(asking, interval)
            app.state.watch = watch = AlarmWatch(asking, samples, interval)
            tasks = [asyncio.create_task(samples.run()), asyncio.create_task(watch.run())]
            if desk is not None:
                tasks.append(asyncio.create_task(desk.run()))
            try:
                yield
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    routes: list[Route | Mount] = [
        Route(path, _answering(_page(path, gather))) for path, gather in PAGES.items()
    ]
    routes += [Route("/export", _answering(export)), Route("/alarms", _answering(_alarms))]
    routes.append(Route("/panel", _answering(_panel)))
    if desk is not None:
        routes += [Route(SIGN_IN, _answering(desk.sign_in), methods=["GET", "POST"])]
        routes += [Route("/sign-out", _answering(desk.sign_out), methods=["POST"])]
        routes += [
            Route(each.path, _answering(desk.changing(each)), methods=["GET", "POST"]) for each in CHANGES
        ]
    routes.append(Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")))
    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Protection, trusted_hosts=trusted_hosts)],
        exception_handlers={HTTPException: _refused},
    )


Handler = Callable[[Request], Awaitable[Response]]


def _page(path: str, gather: Gather) -> Handler:
    async def answer(request: Request) -> Response:
        asking, visitor, query = request.app.state.asking, _visitor(request), Query(request.query_params)
        page = await gather(asking, request.app.state.samples, query)
        links = offers(path, query, signed_in=bool(visitor.user))
        if links:
            page = attrs.evolve(page, parts=[Links(links), *page.parts])
        panels: Panels = request.app.state.panels
        for panel in panels.at(path):
            page = attrs.evolve(
                page, parts=[*page.parts, *await panel_parts(asking, panel, request.query_params)]
            )
        return _html(request, page, path)

    return answer


async def _alarms(request: Request) -> Response:
    return _html(request, alarms_page(request.app.state.watch), "/alarms")


async def _panel(request: Request) -> Response:
    state = request.app.state
    page = await panel_page(state.asking, state.panels, request.query_params)
    return _html(request, page, f"/panel {request.query_params['name']}")


def _html(request: Request, page: Page, path: str) -> Response:
    return HTMLResponse(page_html(page, path, _visitor(request), frame_of(request)))


def _answering(work: Handler) -> Handler:
    """What `work` answers, or a page about what failed."""

    async def answer(request: Request) -> Response:
        seconds = PAGE_SECONDS if request.method == "GET" else POSTED_SECONDS
        try:
            async with asyncio.timeout(seconds):
                return await work(request)
        except TimeoutError:
            return _problem(NoAnswer(f"the cluster needed more than {seconds:g} s for this page"), request)
        except MqframeError as problem:
            return _problem(problem, request)

    return answer


def _visitor(request: Request) -> Visitor:
    desk: Desk | None = request.app.state.desk
    return NOBODY if desk is None else desk.visitor(request)


def _problem(problem: MqframeError, request: Request) -> Response:
    status, title = _kind_of(problem)
    headers = {"Retry-After": "5"} if status == 503 else {}
    if isinstance(problem, Rejection) and problem.wait:
        headers["Retry-After"] = str(problem.wait)
    heard = request.app.state.asking.last_heard
    live = status == 503 and request.method == "GET"
    visitor, frame = _visitor(request), frame_of(request)
    page = problem_html(title, str(problem), heard, status, visitor, frame, live=live)
    return HTMLResponse(page, status, headers)


def _kind_of(problem: MqframeError) -> tuple[int, str]:
    """Status code and title."""
    if isinstance(problem, Rejection):
        return problem.status, problem.title
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
    """What the framework refuses: no such page, another method than it has."""
    assert isinstance(problem, HTTPException)
    said = "There is no such page."
    if request.app.state.desk is None and request.url.path in (SIGN_IN, *(each.path for each in CHANGES)):
        said = "This dashboard only reads: it was started without --sign-in. Nothing was done."
    elif problem.status_code == 405:
        said = "The dashboard only reads: GET is all that it answers."
        if request.app.state.desk is not None:
            said = "This page only reads: GET is all that it answers."
    page = problem_html(problem.detail, said, None, problem.status_code, frame=frame_of(request))
    return HTMLResponse(page, problem.status_code, problem.headers)
