"""A small HTTP server in threads: it answers while the loop of the process has no time."""

from __future__ import annotations

import gzip
import socket
import socketserver
import sys
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, NamedTuple

from mqframe.log import get_logger

log = get_logger("metrics")

REQUESTS_MAX: Final = 16
"""Connections that are served at once; those beyond are closed."""
IDLE_SECONDS: Final = 10.0
_POLL_SECONDS: Final = 0.25
_GZIP_BYTES_MIN: Final = 4096
_GZIP_LEVEL: Final = 1


class Page(NamedTuple):
    """What a path answers: status, type and parts of the body."""

    status: HTTPStatus
    content_type: str
    body: list[bytes]


class HttpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Answers GET and HEAD of `pages`, by path. Raises `OSError` for an address that cannot be used."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, host: str, port: int, pages: Mapping[str, Callable[[], Page]]) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.pages = pages
        self._room = threading.BoundedSemaphore(REQUESTS_MAX)
        self._thread: threading.Thread | None = None
        super().__init__((host.strip("[]"), port), _Handler)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def start(self) -> None:
        """Serve from a thread of its own."""
        self._thread = threading.Thread(target=self.serve_forever, args=(_POLL_SECONDS,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Listen no more. Takes up to a quarter of a second."""
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread, if there is room for one more."""
        if self._room.acquire(blocking=False):
            try:
                super().process_request(request, client_address)
            except BaseException:
                self._room.release()
                raise
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is nobody's concern; anything else is logged."""
        if not isinstance(sys.exception(), OSError):
            log.exception("request failed", peer=str(client_address))


class _Handler(BaseHTTPRequestHandler):
    server: HttpServer
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server_version = "mqframe"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with the page of the path."""
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            known = " ".join(self.server.pages)
            self._send(Page(HTTPStatus.NOT_FOUND, "text/plain", [f"there is: {known}\n".encode()]))
        else:
            self._send(page())

    do_HEAD = do_GET  # noqa: N815

    def _send(self, page: Page) -> None:
        size = sum(map(len, page.body))
        body = page.body
        packed = size >= _GZIP_BYTES_MIN and "gzip" in self.headers.get("Accept-Encoding", "")
        if packed:
            body = [gzip.compress(b"".join(body), _GZIP_LEVEL)]
            size = len(body[0])
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(size))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.writelines(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: whoever scrapes does so all day."""
