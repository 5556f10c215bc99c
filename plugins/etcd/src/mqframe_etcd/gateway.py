"""Calls to etcd through the JSON gateway of its members: which member is asked, how long, and how often."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, TypeVar

import httpx

from mqframe.core.errors import CoordinationError
from mqframe_etcd.answers import EtcdRefusal, refusal, result
from mqframe_etcd.options import EtcdOptions

T = TypeVar("T")
Json = dict[str, Any]
_UNSENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_BROKEN: Final = (httpx.HTTPError, OSError)
"""What a connection ends with; alerts of TLS come as what they are to Python, which is an `OSError`."""
_STREAM_HEADERS: Final = {"Grpc-Metadata-Hasleader": "true"}
"""Ends a stream of a member that is cut off from the others."""


class Quiet(Exception):
    """Nothing came on a stream for as long as was to be waited."""


class Gateway:
    """Asks one member after the other, first the one that answered last.

    `limit_seconds` is for each call as a whole. Nothing but what the options say counts: no proxies and no
    files of the environment. The client of HTTP is made at first use, by which the options' files are read.
    """

    def __init__(self, options: EtcdOptions) -> None:
        options.check_together()
        self.limit_seconds = options.timeout_seconds
        self._options = options
        self._endpoints = [each.rstrip("/") for each in options.endpoints]
        self._first = 0
        self._token = ""
        self._client: httpx.AsyncClient | None = None

    async def call(self, path: str, body: Json, *, again: bool = True) -> Json:
        """The answer to one request. Raises `CoordinationError`.

        `again`: whether it does no harm to send it again after an answer that did not come. Otherwise another
        member is only asked after one to which nothing was sent.
        """

        async def once(endpoint: str, client: httpx.AsyncClient, seconds: float) -> Json:
            timeout = httpx.Timeout(seconds if again else self.limit_seconds, connect=seconds)
            return await self._post(client, endpoint, path, body, timeout)

        return await self._each(once, again=again)

    async def stream(self, path: str, body: Json, quiet_seconds: float) -> AsyncGenerator[Json, None]:
        """Opens a stream; what its lines hold. Raises `CoordinationError` when it cannot be opened.

        The iterator raises `Quiet` after `quiet_seconds` without a line, and `CoordinationError` when the
        stream breaks or etcd ends it with an error. Close it (`aclose`) where it is left early.
        """

        async def once(
            endpoint: str, client: httpx.AsyncClient, seconds: float
        ) -> AsyncGenerator[Json, None]:
            lines = self._lines(client, endpoint, path, body, quiet_seconds)
            try:
                async with asyncio.timeout(seconds):
                    first = await anext(lines)
            except BaseException as problem:
                await lines.aclose()
                if isinstance(problem, TimeoutError | StopAsyncIteration | Quiet):
                    raise httpx.ReadTimeout("no stream came") from problem
                raise
            return _opened(endpoint, first, lines)

        return await self._each(once, again=True)

    async def close(self) -> None:
        """Close all connections; the next call opens new ones."""
        client, self._client, self._token = self._client, None, ""
        if client is not None:
            await client.aclose()

    async def _each(self, once: Callable[[str, httpx.AsyncClient, float], Awaitable[T]], *, again: bool) -> T:
        """What `once` gives at the first member that answers."""
        client = self._open()
        problems: list[str] = []
        maybe = False
        try:
            async with asyncio.timeout(self.limit_seconds):
                for _ in self._endpoints:
                    endpoint = self._endpoints[self._first]
                    try:
                        return await once(endpoint, client, self.limit_seconds / len(self._endpoints))
                    except EtcdRefusal as problem:
                        if not problem.maybe_stored:
                            raise
                        sent, said = True, str(problem)
                    except _BROKEN as problem:
                        sent = not isinstance(problem, _UNSENT)
                        said = f"etcd at {endpoint}: {str(problem) or type(problem).__name__}"
                    problems.append(said)
                    maybe = maybe or sent
                    self._next(endpoint)
                    if sent and not again:
                        break
        except TimeoutError:
            maybe = True
            endpoint = self._endpoints[self._first]
            problems.append(f"etcd at {endpoint}: no answer within {self.limit_seconds} s")
            self._next(endpoint)
        raise CoordinationError("; ".join(problems), maybe_stored=maybe)

    async def _post(
        self, client: httpx.AsyncClient, endpoint: str, path: str, body: Json, timeout: httpx.Timeout
    ) -> Json:
        headers = await self._credentials(client, endpoint, timeout)
        try:
            return await _answer(client, endpoint, path, body, headers, timeout)
        except EtcdRefusal as problem:
            if not problem.stale or not self._options.user:
                raise
        headers = await self._credentials(client, endpoint, timeout, fresh=True)
        return await _answer(client, endpoint, path, body, headers, timeout)

    async def _lines(
        self, client: httpx.AsyncClient, endpoint: str, path: str, body: Json, quiet_seconds: float
    ) -> AsyncGenerator[Json, None]:
        timeout = httpx.Timeout(self.limit_seconds, read=quiet_seconds)
        # A token that is too old is found out by the reads that come before and after each stream.
        headers = await self._credentials(client, endpoint, timeout) | _STREAM_HEADERS
        async with client.stream(
            "POST", endpoint + path, json=body, headers=headers, timeout=timeout
        ) as answer:
            if answer.status_code != httpx.codes.OK:
                raise refusal(endpoint, answer.status_code, await answer.aread())
            try:
                async for line in answer.aiter_lines():
                    if line.strip():
                        yield result(endpoint, line)
            except httpx.ReadTimeout:
                raise Quiet from None

    async def _credentials(
        self, client: httpx.AsyncClient, endpoint: str, timeout: httpx.Timeout, *, fresh: bool = False
    ) -> dict[str, str]:
        """The header that says who asks; a new token where there is none, or where it is to be `fresh`."""
        if not self._options.user:
            return {}
        if fresh or not self._token:
            body = {"name": self._options.user, "password": self._options.password}
            answer = await _answer(client, endpoint, "/v3/auth/authenticate", body, {}, timeout)
            self._token = str(answer.get("token", ""))
        return {"Authorization": self._token}

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = httpx.AsyncClient(verify=self._options.ssl_context(), trust_env=False)
        return self._client

    def _next(self, endpoint: str) -> None:
        """Begin with the member after `endpoint` from now on, unless another call has moved on already."""
        if self._endpoints[self._first] == endpoint:
            self._first = (self._first + 1) % len(self._endpoints)


async def _answer(
    client: httpx.AsyncClient,
    endpoint: str,
    path: str,
    body: Json,
    headers: dict[str, str],
    timeout: httpx.Timeout,
) -> Json:
    """The message in an answer; of a stream, which renewals of leases are, its only line."""
    answer = await client.post(endpoint + path, json=body, headers=headers, timeout=timeout)
    if answer.status_code != httpx.codes.OK:
        raise refusal(endpoint, answer.status_code, answer.content)
    try:
        return dict(json.loads(answer.content))
    except (ValueError, TypeError, RecursionError):
        raise EtcdRefusal(endpoint, 0, f"answered what cannot be read: {answer.content[:200]!r}") from None


async def _opened(
    endpoint: str, first: Json, lines: AsyncGenerator[Json, None]
) -> AsyncGenerator[Json, None]:
    """`first` and the other `lines`."""
    async with aclosing(lines):
        yield first
        try:
            async for each in lines:
                yield each
        except _BROKEN as problem:
            said = str(problem) or type(problem).__name__
            raise CoordinationError(f"stream of etcd at {endpoint} broke: {said}") from problem
