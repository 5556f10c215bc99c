"""Wrappers of listeners and handlers: at least once becomes one effect a key."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, overload

from mqframe.core.messages.message import ReceivedMessage
from mqframe_idempotence.counts import Counts
from mqframe_idempotence.effects import Begun, Effects, EffectVerdict, WhenAway
from mqframe_idempotence.errors import WrongUse
from mqframe_idempotence.keys import KeyFunction, KeyRule, Missing, checked_scope
from mqframe_idempotence.steps import run, run_async
from mqframe_idempotence.stores import Store

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
Messages = Sequence[ReceivedMessage]
_MESSAGE_ONLY: Final = 1
_MESSAGES_AND_CONTEXT: Final = 2


class _Wrapping:
    """What both kinds share. See `Once`."""

    _in_transaction = False

    def __init__(
        self,
        store: Store,
        scope: str,
        *,
        key: str | KeyFunction = "message_id",
        missing: Missing = "raise",
        when_away: WhenAway = "retry",
        busy_delay_level: int = 0,
    ) -> None:
        if store.in_transaction is not self._in_transaction:
            other = "OnceInTransaction" if store.in_transaction else "Once"
            raise WrongUse(f"a {type(store).__name__} belongs to {other}, not to {type(self).__name__}")
        if when_away not in ("retry", "process"):
            raise WrongUse(f"when_away={when_away!r} is none of 'retry', 'process'")
        if store.in_transaction and when_away != "retry":
            raise WrongUse("when_away is for Once: without the database there is nothing to do the effect in")
        self.counts = Counts()
        self.store = store
        self._effects = Effects(
            store, checked_scope(scope), KeyRule(key, missing), self.counts, when_away, busy_delay_level
        )

    def _handler(self, function: Any) -> Any:
        is_async = self._check(function, _MESSAGE_ONLY)
        hand_over = self._in_transaction
        single = self._effects.single

        wants = _wanted_count(function, hand_over)

        def steps(first: Any, args: tuple[Any, ...], named: Any) -> Any:
            message = first
            if not isinstance(first, ReceivedMessage):
                # The value, of a topic that is subscribed with type or codec; the message follows.
                message, args = _message_of(function, args), args[: wants - 1]
            if hand_over:
                return single(message, lambda _, session: function(first, session, *args, **named))
            return single(message, lambda _, session: function(first, *args, **named))

        if is_async:

            async def handle_async(first: Any, *args: Any, **named: Any) -> Any:
                return await run_async(steps(first, args, named))

            return self._dressed(handle_async, function, _MESSAGE_ONLY)

        def handle(first: Any, *args: Any, **named: Any) -> Any:
            return run(steps(first, args, named))

        return self._dressed(handle, function, _MESSAGE_ONLY)

    def _listener(self, function: Any, ordered: bool | None) -> Any:
        is_async = self._check(function, _MESSAGES_AND_CONTEXT)
        hand_over = self._in_transaction
        batch = self._effects.batch

        def steps(messages: Messages, context: Any) -> Any:
            if hand_over:
                return batch(messages, context, lambda new, s: function(new, context, s), ordered)
            return batch(messages, context, lambda new, s: function(new, context), ordered)

        if is_async:

            async def listen_async(messages: Messages, context: Any) -> Any:
                return await run_async(steps(messages, context))

            return self._dressed(listen_async, function, _MESSAGES_AND_CONTEXT)

        def listen(messages: Messages, context: Any) -> Any:
            return run(steps(messages, context))

        return self._dressed(listen, function, _MESSAGES_AND_CONTEXT)

    def _check(self, function: Any, place: int) -> bool:
        """Whether `function` is an `async def`. Raises `WrongUse` when it does not fit."""
        if not callable(function):
            raise WrongUse(f"a {type(function).__qualname__} is no function")
        call = getattr(type(function), "__call__", None)  # noqa: B004 - its kind is asked, not its presence
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
        name = getattr(function, "__qualname__", type(function).__qualname__)
        if self.store.is_async is not None and self.store.is_async is not is_async:
            kind, wanted = ("async def", "plain") if is_async else ("plain", "async")
            raise WrongUse(f"{name} is {kind}, but {type(self.store).__name__} is for {wanted} functions")
        wanted_count = place + self._in_transaction
        takes = "message" if place == _MESSAGE_ONLY else "messages, context"
        takes += ", session" if self._in_transaction else ""
        parameters = _parameters(function)
        if parameters is None:
            return is_async
        if parameters and parameters[0].name == "self":
            raise WrongUse(f"{name} is a method without its object; wrap the bound method when you subscribe")
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(positional) < wanted_count and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            raise WrongUse(f"{name} takes {len(positional)} arguments; it is called as {name}({takes})")
        return is_async

    def _dressed(self, wrapper: Any, function: Any, place: int) -> Any:
        """`wrapper` with name, annotations and signature of `function`, but for the session."""
        functools.update_wrapper(wrapper, function)
        # What a consumer looks at that hands typed handlers their values.
        wrapper.__mqframe_wraps__ = "handler" if place == _MESSAGE_ONLY else "listener"
        parameters = _parameters(function)
        if self._in_transaction and parameters is not None and place < len(parameters):
            session = parameters[place]
            if session.kind is not session.VAR_POSITIONAL:
                rest = parameters[:place] + parameters[place + 1 :]
                wrapper.__signature__ = inspect.signature(function).replace(parameters=rest)
                annotations = getattr(function, "__annotations__", {})
                wrapper.__annotations__ = {k: v for k, v in annotations.items() if k != session.name}
        return wrapper


class Once(_Wrapping):
    """Lets a key have one effect, with a store beside it: `MemoryStore`, `RedisStore`, `AsyncRedisStore`.

        once = Once(RedisStore(redis.Redis()), "billing", key="keys")

        @consumer.on("orders")
        @once.listener
        def charge(messages, context): ...

    A key is claimed, the function is called, the key is noted as done. Where the process dies between the
    last two, the key is free again once its lease is over, and the effect may be there twice.

    `scope`: names the effect, for example the consumer group: keys of two scopes have nothing to do with each
    other. `key`: "message_id", "keys", "property:NAME" or a function of the message. `missing`: "raise" a
    `NoKey` for a message without a key, or "process" it each time. `when_away`: "retry" later when the store
    cannot be asked, or "process" without it. `busy_delay_level`: when a message comes again whose key is
    being worked on; 0: by the broker's steps. Raises `WrongUse`. `counts`: what became of messages.
    """

    @overload
    def handler(
        self, function: Callable[P, Coroutine[Any, Any, R]]
    ) -> Callable[P, Coroutine[Any, Any, R | None]]: ...
    @overload
    def handler(self, function: Callable[P, R]) -> Callable[P, R | None]: ...
    def handler(self, function: Any) -> Any:
        """Wrap `function(message)`; what it returns is returned, `None` for a duplicate.

        Of a topic that is subscribed with `type` or `codec` the function takes the value, as it would without
        the wrapper: `function(value)`, `function(value, message)` or `function(value, message, context)`.

        The wrapper raises what the function raises, `InProgress`, `StoreAway` and `NoKey`. A function that
        returns a `ConsumeResult` other than SUCCESS has failed, too.
        """
        return self._handler(function)

    @overload
    def listener(self, function: Callable[P, R], *, ordered: bool | None = None) -> Callable[P, R]: ...
    @overload
    def listener(
        self, function: None = None, *, ordered: bool | None = None
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def listener(self, function: Any = None, *, ordered: bool | None = None) -> Any:
        """Wrap `function(messages, context)`, which is called with those messages that are new.

        `ordered`: say `True` for consumers in order: what follows a message that is put off waits, too.
        `False` for others: what precedes one is acknowledged by `context.ack_index`. `None` is right for
        both: when a message is put off the whole batch comes again.
        """
        if function is None:
            return functools.partial(self._listener, ordered=ordered)
        return self._listener(function, ordered)

    def processing(self, message: ReceivedMessage) -> Processing[None]:
        """A block for one message; see `Processing`."""
        return Processing(self._effects, message)


class OnceInTransaction(_Wrapping, Generic[S]):
    """Lets a key have one effect, which is kept or taken back in one transaction with the key.

        once = OnceInTransaction(SqlStore(lambda: sqlite3.connect("shop.db")), "billing")

        @consumer.on("orders")
        @once.handler
        def charge(message, connection):
            connection.execute("UPDATE …")

    The function gets the connection or session behind its other arguments, and neither commits nor rolls
    back. A batch is one transaction. Arguments as of `Once`, but for `when_away`: without the database
    there is nothing to do the effect in.
    """

    _in_transaction = True

    @overload
    def handler(
        self, function: Callable[Concatenate[T, S, P], Coroutine[Any, Any, R]]
    ) -> Callable[Concatenate[T, P], Coroutine[Any, Any, R | None]]: ...
    @overload
    def handler(
        self, function: Callable[Concatenate[T, S, P], R]
    ) -> Callable[Concatenate[T, P], R | None]: ...
    def handler(self, function: Any) -> Any:
        """Wrap `function(message, session)`, or `function(value, session)`, as `Once.handler` does.

        The session is always the second argument; the message of a value, and the context, follow.
        """
        return self._handler(function)

    @overload
    def listener(
        self, function: Callable[[Messages, Any, S], R], *, ordered: bool | None = None
    ) -> Callable[[Messages, Any], R]: ...
    @overload
    def listener(
        self, function: None = None, *, ordered: bool | None = None
    ) -> Callable[[Callable[[Messages, Any, S], R]], Callable[[Messages, Any], R]]: ...
    def listener(self, function: Any = None, *, ordered: bool | None = None) -> Any:
        """Wrap `function(messages, context, session)`, as `Once.listener` does.

        When it answers SUCCESS with an `ack_index` that leaves messages out, what it did in the session is
        committed with the keys of the others; it has to take back what it did for those that it left out.
        """
        if function is None:
            return functools.partial(self._listener, ordered=ordered)
        return self._listener(function, ordered)

    def processing(self, message: ReceivedMessage) -> Processing[S]:
        """A block for one message; see `Processing`."""
        return Processing(self._effects, message)


class Processing(Generic[S]):
    """One message that an application works on itself, as with simple and lite pull consumers.

        with once.processing(message) as work:      # `async with` for asynchronous stores
            if work.fresh:
                charge(message)
        consumer.ack(message)

    `fresh`: the effect is not there yet. `session`: that of the transaction, `None` of other stores. An
    exception in the block gives the key up. Raises `InProgress` and what the store raises on entering, what
    the store raises on leaving.
    """

    session: S
    fresh: bool

    def __init__(self, effects: Effects, message: ReceivedMessage) -> None:
        self._effects = effects
        self._message = message
        self._begun: Begun | None = None

    def _enter(self) -> Any:
        begun = yield from self._effects.begin([self._message])
        self.fresh = begun.verdicts[0] is EffectVerdict.CALL
        if not self.fresh:
            yield from self._effects.abandon(begun)
            self._effects.refuse_busy(begun)
        self.session = begun.session
        self._begun = begun

    def _leave(self, failed: bool) -> Any:
        begun, self._begun = self._begun, None
        if begun is None or not self.fresh:
            return
        if failed:
            self._effects.counts.add("failed")
            yield from self._effects.abandon(begun)
        else:
            yield from self._effects.finish(begun, [0])

    def __enter__(self) -> Processing[S]:
        if self._effects.store.is_async:
            raise WrongUse(f"a {type(self._effects.store).__name__} is for `async with`")
        run(self._enter())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self._leave(kind is not None))

    async def __aenter__(self) -> Processing[S]:
        if self._effects.store.is_async is False:
            raise WrongUse(f"a {type(self._effects.store).__name__} is for plain `with`")
        await run_async(self._enter())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        await run_async(self._leave(kind is not None))


def _parameters(function: Any) -> list[inspect.Parameter] | None:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None  # written in C, without a signature


def _wanted_count(function: Any, hand_over: bool) -> int:
    """How many arguments `function` takes besides a session."""
    parameters = _parameters(function) or []
    needed = [
        each
        for each in parameters
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.default is each.empty
    ]
    return len(needed) - hand_over


def _message_of(function: Any, args: tuple[Any, ...]) -> ReceivedMessage:
    for each in args:
        if isinstance(each, ReceivedMessage):
            return each
    name = getattr(function, "__qualname__", type(function).__qualname__)
    raise WrongUse(
        f"{name} was called without a message, whose key is to be looked at; hand it on behind the value"
    )
