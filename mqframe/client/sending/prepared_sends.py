"""What send hooks do once a send: before it is encoded, and when it is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final

import attrs

from mqframe.client.sending.batches import SendBatch
from mqframe.core.messages.message import Message, SendResult, with_properties
from mqframe.hooks.interfaces import SendHook, SendOperation
from mqframe.hooks.isolate import finish_each, prepare_each

NOTHING_ASKED: Final[Mapping[str, str]] = {}


class PreparedSend:
    """One send on its way. As a context manager it ends the operation when the block does.

    `messages`: what is to be encoded, with what hooks have set.
    """

    __slots__ = ("_hooks", "messages", "operation")

    def __init__(
        self, hooks: Sequence[SendHook], messages: Sequence[Message], operation: SendOperation
    ) -> None:
        self._hooks = hooks
        self.messages = messages
        self.operation = operation

    def done(self, result: SendResult) -> SendResult:
        """Note `result`, and return it."""
        self.operation.result = result
        return result

    def carried_by(self, batch: SendBatch, *, beside_others: bool = False) -> SendBatch:
        """Let the tries of `batch` know that they belong to this operation; returns it.

        `beside_others`: other batches carry it at the same time, so that each notes its own things.
        """
        operation = self.operation
        if beside_others:
            operation = attrs.evolve(operation, extras=dict(operation.extras))
        batch.operations = (operation,)
        return batch

    def failed(self, problem: BaseException) -> None:
        """The send ended by `problem`."""
        self.operation.error = problem
        finish_each(self._hooks, self.operation)

    def __enter__(self) -> PreparedSend:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if problem is not None:
            self.operation.result = None
            self.operation.error = problem
        finish_each(self._hooks, self.operation)


class UnpreparedSend:
    """A send that no hook prepares: as `PreparedSend`, and does nothing."""

    __slots__ = ("messages",)

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages

    def done(self, result: SendResult) -> SendResult:
        """Returns `result`."""
        return result

    def carried_by(self, batch: SendBatch, *, beside_others: bool = False) -> SendBatch:
        """Returns `batch`."""
        return batch

    def __enter__(self) -> UnpreparedSend:
        return self

    def __exit__(self, *problem: object) -> None:
        return None


class PreparingHooks:
    """The hooks of one producer that have `prepare` or `finish`."""

    __slots__ = ("_client_id", "_group", "_hooks")

    def __init__(self, hooks: Sequence[SendHook], group: str, client_id: str) -> None:
        self._hooks = hooks
        self._group = group
        self._client_id = client_id

    def begin(
        self,
        messages: Sequence[Message],
        mode: str,
        *,
        asked: Mapping[str, str] = NOTHING_ASKED,
        batch: bool = False,
        sharding_key: object = None,
    ) -> PreparedSend:
        """Have a send of `messages`, which were checked, prepared.

        `asked`: properties of the system that they get later; hooks see them. Raises `IllegalProperty` after
        `finish` was called.
        """
        shown = [with_properties(message, asked) for message in messages] if asked else messages
        operation = SendOperation(self._group, shown, mode, self._client_id, batch, sharding_key)
        prepared = PreparedSend(self._hooks, messages, operation)
        try:
            given = prepare_each(self._hooks, operation)
        except BaseException as problem:  # re-raised: hooks that have prepared it are notified first
            prepared.failed(problem)
            raise
        if given:
            changed = list(messages)
            for index, properties in given.items():
                changed[index] = with_properties(changed[index], properties)
            prepared.messages = changed
        return prepared


def preparing_hooks(hooks: Sequence[SendHook]) -> tuple[SendHook, ...]:
    """Those of `hooks` that have `prepare` or `finish`: the others are spared it."""
    return tuple(
        hook
        for hook in hooks
        if type(hook).prepare is not SendHook.prepare or type(hook).finish is not SendHook.finish
    )


def begin(
    preparing: PreparingHooks | None,
    message: Message,
    *,
    asked: Mapping[str, str] = NOTHING_ASKED,
    sharding_key: object = None,
) -> PreparedSend | UnpreparedSend:
    """Have an awaited send of `message` prepared where hooks do so. Raises `IllegalProperty`."""
    if preparing is None:
        return UnpreparedSend((message,))
    return preparing.begin((message,), "sync", asked=asked, sharding_key=sharding_key)
