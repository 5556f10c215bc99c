"""Messages that are delivered only if a block of the application's ends well."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import TracebackType

from mqframe import AsyncTransaction, ClosedError


class BrokerTransaction:
    """What `MqframeBroker.transaction` returns: the block gets the `mqframe.AsyncTransaction`.

    `begin`: sends the message as a half one, by way of the middlewares.
    """

    def __init__(self, begin: Callable[[], Awaitable[AsyncTransaction]]) -> None:
        self._begin: Callable[[], Awaitable[AsyncTransaction]] | None = begin
        self._open: AsyncTransaction | None = None

    async def __aenter__(self) -> AsyncTransaction:
        begin, self._begin = self._begin, None
        if begin is None:
            raise ClosedError("the transaction has begun before; make a new one for each block")
        self._open = await begin()
        return self._open

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._open is not None
        await self._open.__aexit__(kind, problem, trace)
