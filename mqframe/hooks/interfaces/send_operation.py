"""One send as send hooks see it as a whole: before it is encoded, and after its last try."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mqframe.core.errors import MessageError
from mqframe.core.messages.checks import check_property
from mqframe.core.messages.message import Message, SendResult


class SendStopped(MessageError):
    """The one error of `prepare` by which a send fails. Kinds of it reach the sender, and name the hook."""


class IllegalProperty(SendStopped):
    """A property that a send hook wants a message to have, and that none may have."""


@attrs.define(eq=False)
class SendOperation:
    """One send with all of its tries, of one message, or of several by `send_batch` (`batch`).

    `messages`: as they are going to be sent, with what the hooks before have set, and with the system's
    properties that ask the broker for something (a delay, a transaction); `mode`: "sync", "async" (submitted)
    or "oneway"; `sharding_key`: what the application passed to have its queue chosen by. `result`, `error`:
    set before `finish`; both `None` where nobody answers. `extras`: the hooks' own, from `prepare` to
    `finish`; the contexts of the tries have the same.
    """

    group: str
    messages: Sequence[Message]
    mode: str
    client_id: str = ""
    batch: bool = False
    sharding_key: object = None
    result: SendResult | None = None
    error: BaseException | None = None
    extras: dict[str, object] = attrs.field(factory=dict)
    _set: dict[int, dict[str, str]] = attrs.field(factory=dict, init=False, repr=False)

    def set_property(self, name: str, value: str, index: int | None = None) -> None:
        """Let the message at `index`, by default each, have the property; one of that name is replaced.

        Only in `prepare`. The message of the application stays as it is: a copy is sent. Raises
        `IllegalProperty` for names of the system, empty texts, and texts that cannot be encoded.
        """
        try:
            check_property(name, value)
        except MessageError as problem:
            raise IllegalProperty(str(problem)) from None
        everywhere = range(len(self.messages))
        for at in everywhere if index is None else (everywhere[index],):
            self._set.setdefault(at, {})[name] = value

    def take_properties(self) -> dict[int, dict[str, str]]:
        """What was set since this was called last, by index of the message; for whoever calls the hooks."""
        taken, self._set = self._set, {}
        return taken
