"""Clients for plain threads: an asyncio client, driven on a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from mqframe.client.configuration.from_config import ConfigSource, Configurable
from mqframe.client.connection.identity import SameProcess
from mqframe.client.connection.lifecycle import AsyncClient, described, phase_of
from mqframe.client.connection.loop_thread import LoopThread
from mqframe.core.errors import ClosedError

C = TypeVar("C", bound=AsyncClient)
P = ParamSpec("P")
T = TypeVar("T")


class SyncClient(Configurable, Generic[C]):
    """Runs `client` on a loop in a thread of its own, from `start` to `stop`. Any thread may use it.

    `kind`: what it is in a word, for messages and for the name of the thread; `group`: which it works for.
    """

    def __init__(self, client: C, kind: str, group: str = "") -> None:
        self._client = client
        self._title = f"the {kind} of group {group}" if group else f"the {kind}"
        self._thread_name = f"mqframe-{kind}-{group[:100]}" if group else f"mqframe-{kind}"
        self._process = SameProcess(kind)
        self._lock = threading.Lock()
        self._loop: LoopThread | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin to work."""
        self._start(lambda loop: loop.call(self._client.start()))

    def _start(self, how: Callable[[LoopThread], None]) -> None:
        self._process.check()
        with self._lock:
            if self._stopped:
                raise ClosedError(f"{self._title} was stopped; make a new one")
            began = self._loop is None
            loop = self._loop = self._loop or LoopThread(self._thread_name)
        try:
            how(loop)
        except BaseException:
            if began:
                self._loop = None
                loop.stop()
            raise

    def stop(self) -> None:
        """End in good order. Twice does no harm."""
        self._end(self._client.stop)

    def __repr__(self) -> str:
        phase = phase_of(running=self._loop is not None, stopped=self._stopped)
        return described(self, getattr(self._client, "group", ""), phase)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(lambda: self._client.__aexit__(kind, problem, trace))

    def _end(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._process.check()
        with self._lock:
            loop, self._loop = self._loop, None
            self._stopped = True
        if loop is not None:
            try:
                loop.call(how())
            finally:
                loop.stop()
                self._close()

    def _watch(self, source: ConfigSource, seconds: float) -> None:
        self._client._watch(source, seconds)

    def _close(self) -> None:
        """Close what is left once the loop has ended; called once."""

    def _call(self, method: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a method of the client, awaited on its loop. Raises `ClosedError` unless it runs."""
        return self._thread().call(method(*args, **kwargs))

    def _do(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a plain method, on the loop; right here while there is none, and in its thread."""
        self._process.check()
        loop = self._loop
        if loop is None or loop.is_current:
            return method(*args, **kwargs)

        async def there() -> T:
            return method(*args, **kwargs)

        return loop.call(there())

    def _thread(self) -> LoopThread:
        self._process.check()
        if self._loop is None:
            why = "it was stopped; make a new one" if self._stopped else "use a with block, or call start()"
            raise ClosedError(f"{self._title} is not running: {why}")
        return self._loop


def looped(client: SyncClient[Any], messages: AsyncGenerator[T, None]) -> Iterator[T]:
    """What `messages`, of the loop of `client`, brings, in the calling thread, until `client` is stopped."""
    try:
        while True:
            found = client._call(messages.__anext__)
            try:
                yield found
            except GeneratorExit:
                with suppress(ClosedError):  # stopped meanwhile, which ends it
                    client._call(messages.aclose)
                raise
    except StopAsyncIteration:
        return
    except ClosedError:
        if not client._stopped:
            raise


Listener = Callable[..., Any]


@overload
def called_in_thread(listener: Listener) -> Listener: ...
@overload
def called_in_thread(listener: Listener | None) -> Listener | None: ...
def called_in_thread(listener: Listener | None) -> Listener | None:
    """`listener`, called in a thread: it may call the client, which would wait for its own loop there."""
    if listener is None:
        return None

    async def called(*words: object) -> None:
        result = await asyncio.to_thread(listener, *words)
        if asyncio.iscoroutine(result):
            await result

    return called
