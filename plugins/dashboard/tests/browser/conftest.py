"""Pages in a real browser: one Chromium for all tests of this folder, a window of its own for each.

A test fails when its page wrote an error to the console, which violations of the content policy do, raised
one, or asked for what is not there; where such a thing is meant, the test takes it out of `problems`.

    def test_a_page(page, problems, serve, mqframe_cluster):
        page.goto(serve(mqframe_cluster.nameserver) + "topics")
        expect(page.get_by_role("heading", level=1)).to_have_text("Topics")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import chromium
import pytest
from own_programs import missing
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, expect

SECONDS_MAX = 40
"""In which a page has loaded itself again, on a machine that others use, too."""
REFUSED = "the server responded with a status of 503"
"""The console's word for a cluster that did not answer in time, as on a machine that stood still.

That page loads itself again, and what the test expects of it waits for that.
"""


@pytest.fixture(scope="package")
def chromium_running() -> Iterator[Browser]:
    """The browser. Without one tests are skipped; in CI that is a failure."""
    path = chromium.executable()
    if path is None:
        missing(f"no Chromium is installed: none of {', '.join(chromium.NAMES)} is on PATH")
    expect.set_options(timeout=SECONDS_MAX * 1000)
    with chromium.started(path) as browser:
        yield browser


@pytest.fixture(scope="package")
def serve_long(chromium_running: Browser) -> Iterator[Callable[..., str]]:
    """As `serve`, until the last test of this folder has run."""
    with ExitStack() as stack:
        yield lambda nameserver, **options: stack.enter_context(chromium.served(nameserver, **options))


@pytest.fixture
def serve(chromium_running: Browser) -> Iterator[Callable[..., str]]:
    """Serves dashboards with the arguments of `create_app`; returns the address, which ends with a slash."""
    with ExitStack() as stack:
        yield lambda nameserver, **options: stack.enter_context(chromium.served(nameserver, **options))


@pytest.fixture
def context(chromium_running: Browser) -> Iterator[BrowserContext]:
    """Windows with cookies and storage of their own."""
    with chromium_running.new_context() as context:
        context.set_default_timeout(SECONDS_MAX * 1000)
        yield context


@pytest.fixture
def problems() -> Iterator[list[str]]:
    """What went wrong in `page`; at the end of the test there has to be none."""
    found: list[str] = []
    yield found
    assert [each for each in found if REFUSED not in each] == []


@pytest.fixture
def page(context: BrowserContext, problems: list[str]) -> Page:
    """An empty window."""
    page = context.new_page()
    page.on("pageerror", lambda error: problems.append(f"raised: {error}"))

    def dismiss(dialog: Dialog) -> None:
        problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def hear(said: ConsoleMessage) -> None:
        if said.type in ("error", "warning"):
            problems.append(f"{said.type}: {said.text}")

    page.on("dialog", dismiss)
    page.on("console", hear)
    return page
