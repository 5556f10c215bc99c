"""A small HTTP server in threads: it answers while the loop of the process has no time."""

from __future__ import annotations

import contextlib
import re
import socket
import socketserver
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final, NamedTuple

from mqframe.log import get_logger

log = get_logger("metrics")

REQUESTS_MAX: Final = 16
"""Connections that are served at once; beyond them the longest silent one gives way, or the new one."""
QUIET_SECONDS: Final = 1.0
"""So long a connection may say nothing whole while others come."""
IDLE_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 1.0
_PAUSE_SECONDS: Final = 0.1
_GZIP_BYTES_MIN: Final = 4096
_GZIP_LEVEL: Final = 1
_GZIP_FORMAT: Final = zlib.MAX_WBITS | 16
_PIECE_BYTES: Final = 1 << 20
"""So much is packed or sent at once: with each piece a thread asks for the interpreter, which others use."""
_NO_GZIP: Final = re.compile(r"gzip\s*;\s*q=0(\.0*)?\s*(,|$)", re.IGNORECASE)


class Page(NamedTuple):
    """What a path answers: status, type and parts of the body."""

    status: HTTPStatus
    content_type: str
    body: list[bytes]


class HttpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Answers GET and HEAD of `pages`, by path. Raises `OSError` for an address that cannot be used.

    `monotonic`: seconds of a clock that never goes back.
    """

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(
        self,
        host: str,
        port: int,
        pages: Mapping[str, Callable[[], Page]],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if ":" in host:
            self.address_family = socket.AF_INET6
        self.pages = pages
        self._room = threading.BoundedSemaphore(REQUESTS_MAX)
        self._monotonic = monotonic
        self._silent: dict[socket.socket, float] = {}
        self._silent_lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._bound = host.strip("[]"), port
        super().__init__(self._bound, _Handler)
        self._bound = self._bound[0], self.port

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.server_address[1])

    def start(self) -> None:
        """Serve from a thread of its own."""
        self._thread = threading.Thread(target=self._serve, name="mqframe-metrics", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        # Not `serve_forever`, which wakes up for nothing several times a second.
        while not self._stopping:
            self.handle_request()

    def stop(self) -> None:
        """Listen no more."""
        self._stopping = True
        if self._thread is not None:
            with contextlib.suppress(OSError):  # a call, so that the thread looks up
                socket.create_connection(self._bound, _STOP_SECONDS).close()
            self._thread.join(_STOP_SECONDS)
        self.server_close()

    def get_request(self) -> tuple[Any, Any]:
        """The next connection. Where none can be taken, for too many files are open, wait a moment."""
        try:
            return super().get_request()
        except OSError:
            time.sleep(_PAUSE_SECONDS)
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread, if there is room for one more."""
        if self._room.acquire(blocking=False) or (
            self._give_way() and self._room.acquire(timeout=_STOP_SECONDS)
        ):
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
            self.said(request)
            self._room.release()

    def waits(self, connection: socket.socket) -> None:
        """`connection` is to say what it wants."""
        with self._silent_lock:
            self._silent[connection] = self._monotonic()

    def said(self, connection: socket.socket) -> None:
        """`connection` has said what it wants, or is gone."""
        with self._silent_lock:
            self._silent.pop(connection, None)

    def _give_way(self) -> bool:
        """Close the connection that has been silent the longest; whether one was for long enough."""
        with self._silent_lock:
            first = next(iter(self._silent.items()), None)
            if first is None or self._monotonic() - first[1] < QUIET_SECONDS:
                return False
            del self._silent[first[0]]
            with contextlib.suppress(OSError):  # it has just left
                first[0].shutdown(socket.SHUT_RDWR)
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is nobody's concern; anything else is logged."""
        if not isinstance(sys.exception(), OSError):
            log.exception("request failed", peer=str(client_address))


class _Handler(BaseHTTPRequestHandler):
    server: HttpServer
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # else what is no request is answered without a status
    error_content_type = "text/plain"
    error_message_format = "%(message)s\n"
    timeout = IDLE_SECONDS
    disable_nagle_algorithm = True  # head and body are sent one after the other
    server_version = "mqframe"
    sys_version = ""

    def handle_one_request(self) -> None:
        """Wait for a request, and answer it."""
        self.server.waits(self.connection)
        super().handle_one_request()

    def do_GET(self) -> None:
        """Answer with the page of the path."""
        self.server.said(self.connection)
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            known = " ".join(self.server.pages)
            self._send(Page(HTTPStatus.NOT_FOUND, "text/plain", [f"there is: {known}\n".encode()]))
        else:
            self._send(page())

    do_HEAD = do_GET  # noqa: N815

    def _send(self, page: Page) -> None:
        body = list(_pieces(page.body))
        packed = sum(map(len, body)) >= _GZIP_BYTES_MIN and self._takes_gzip()
        if packed:
            body = list(_packed(body))
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(sum(map(len, body))))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.writelines(body)

    def _takes_gzip(self) -> bool:
        accepted = self.headers.get("Accept-Encoding", "")
        return "gzip" in accepted.lower() and not _NO_GZIP.search(accepted)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: whoever scrapes does so all day."""


def _pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of `_PIECE_BYTES` or a little more."""
    piece: list[bytes] = []
    size = 0
    for part in parts:
        piece.append(part)
        size += len(part)
        if size >= _PIECE_BYTES:
            yield b"".join(piece)
            piece, size = [], 0
    yield b"".join(piece)


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP_FORMAT)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()
