"""An S3 server on loopback, moto's, that can be told to misbehave.

Requests are served one after the other, so that a conditional put is one step, as it is with Amazon S3.
"""

from __future__ import annotations

import io
import logging
import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterable
from typing import Any

import boto3
from moto.server import DomainDispatcherApplication, create_backend_app
from mqframe_spark.exact.commit_folder import Folder, absolute, open_folder
from mqframe_spark.exact.object_folder import PROBE
from mqframe_spark.object_store_options import parse_object_store_options
from werkzeug.serving import make_server

KEY, SECRET = "AKIALOOPBACK", "top/secret+of+the+store"


class S3Server:
    """`options`: the sink's, to reach it; `requests`: method and path of each, in order; `signed`: how.

    `honest`: whether it heeds `If-None-Match`, which old ones did not know.
    """

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._serve, threaded=True)
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._faults: list[tuple[str, re.Pattern[str], Callable[[dict[str, Any]], Any]]] = []
        self.requests: list[tuple[str, str]] = []
        self.signed: list[tuple[str, str | None]] = []
        self.honest = True
        self.bucket: Any = None
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self.options = {
            "fs.s3a.access.key": KEY,
            "fs.s3a.secret.key": SECRET,
            "fs.s3a.endpoint": self.address,
        }

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def place(self) -> str:
        """A folder in the bucket."""
        return f"s3://{self.bucket.name}/records"

    def renew(self) -> None:
        """Misbehave no more, with a new `bucket`, seen by a client of another make."""
        self._faults.clear()
        self.requests.clear()
        self.signed.clear()
        self.honest = True
        resource = boto3.resource(
            "s3",
            endpoint_url=self.address,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            region_name="us-east-1",
        )
        self.bucket = resource.create_bucket(Bucket=f"bucket-{uuid.uuid4().hex[:12]}")

    def opened(self, place: str = "", **options: str) -> Folder:
        """The folder at `place`, by the sink's `options` and more."""
        given = parse_object_store_options({**self.options, **options})[0]
        return open_folder("commitPath", absolute("commitPath", place or self.place), given)

    def objects(self) -> dict[str, bytes]:
        """All that the bucket holds."""
        return {each.key: each.get()["Body"].read() for each in self.bucket.objects.all()}

    def next(self, method: str, path: str, *faults: str | tuple[int, str]) -> None:
        """What becomes of the next requests of `method` whose path has `path` in it, the probe's excepted.

        `"lost"`: it comes too late, when the connection is gone; `"unanswered"`: it is served, and the
        connection breaks before the answer; `"served"`: nothing is wrong; a status with a code: that answer.
        """
        self._faults += [(method, re.compile(path), self._fault(fault)) for fault in faults]

    def after(self, method: str, path: str, call: Callable[[], Any]) -> None:
        """`call` when the next such request was served, before it is answered."""

        def served(environ: dict[str, Any]) -> Any:
            answer = self._served(environ)
            self._lock.release()  # others are served meanwhile
            try:
                call()
            finally:
                self._lock.acquire()
            return answer

        self._faults.append((method, re.compile(path), served))

    def _fault(self, fault: str | tuple[int, str]) -> Callable[[dict[str, Any]], Any]:
        def wrong(environ: dict[str, Any]) -> Any:
            if isinstance(fault, tuple):
                status, code = fault
                body = f"<Error><Code>{code}</Code><Message>told to say so</Message></Error>".encode()
                return f"{status} {code}", [("Content-Length", str(len(body)))], [body]
            environ["wsgi.input"] = io.BytesIO(
                environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            )
            answer = self._served(environ) if fault in ("unanswered", "served") else None
            if fault != "served":
                environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
                raise ConnectionError
            return answer

        return wrong

    def _serve(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        with self._lock:
            self.requests.append((method, path))
            self.signed.append(
                (environ.get("HTTP_AUTHORIZATION", ""), environ.get("HTTP_X_AMZ_SECURITY_TOKEN"))
            )
            if not self.honest:
                environ.pop("HTTP_IF_NONE_MATCH", None)
            serve = self._served
            for number, (of, pattern, fault) in enumerate(self._faults):
                meant = not path.endswith(PROBE) or pattern.pattern == PROBE
                if of == method and pattern.search(path) and meant:
                    serve = fault
                    del self._faults[number]
                    break
            status, headers, body = serve(environ)
        start_response(status, headers)
        return body  # type: ignore[no-any-return]

    def _served(self, environ: dict[str, Any]) -> Any:
        said: list[Any] = []
        body = list(self._app(environ, lambda status, headers, *_: said.extend((status, headers))))
        return said[0], said[1], body
