"""The installed Chromium, without a window, and dashboards that are served to it."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
from collections.abc import Iterator
from typing import Any, Final

import uvicorn
from mqframe_dashboard import create_app
from playwright.sync_api import Browser, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")


def executable() -> str | None:
    """Where Chromium is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextlib.contextmanager
def started(path: str) -> Iterator[Browser]:
    """The browser at `path`. While it runs, nothing else may run an event loop in this thread."""
    with sync_playwright() as playwright:
        # Containers often run as root and have next to no shared memory.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def served(nameserver: str, **options: Any) -> Iterator[str]:
    """The address of a dashboard with these arguments of `create_app`, in a thread of its own."""
    app = create_app(nameserver, **options)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(30)
