"""The users and policies of brokers, as access control keeps them in a file where it is a broker's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

from mqframe_admin.access.bodies import UserInfo
from mqframe_admin.access.requests import AuthListAcl, AuthListUser

from mqframe.core.errors import GiveUpError, MqframeError, answer_error
from mqframe.core.requests.fields import Request
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import decode

T = TypeVar("T")
Ask = Callable[[str, Request], Awaitable[Frame]]

FILE: Final = "access.json"
"""The file of users and policies: `{"acls": […], "users": […]}`, in the bodies of the protocol."""
_NOTHING: Final = b"[]"


class BrokerUsers:
    """What brokers say of their users. `ask`: asks one by name; `names`: all of them, the first one counts.

    Brokers each keep users of their own, which operators change at all of them; where they differ it is the
    first that can be asked.
    """

    def __init__(self, ask: Ask, names: Callable[[], Sequence[str]]) -> None:
        self._ask = ask
        self._names = names

    async def content(self) -> bytes:
        """What the file would hold. Raises `MqframeError` when no broker tells all that has to be known."""
        problem: MqframeError = GiveUpError("name servers know no broker")
        for broker in self._names():
            try:
                users = await self._list(broker, AuthListUser())
                policies = await self._list(broker, AuthListAcl())
                _check(broker, users)
            except MqframeError as error:
                problem = error
                continue
            return b'{"acls":%b,"users":%b}' % (policies, users)
        raise problem

    async def _list(self, broker: str, request: Request) -> bytes:
        answer = await self._ask(broker, request)
        if answer.code:
            raise answer_error(answer.code, answer.remark, broker)
        return bytes(answer.body) or _NOTHING


class BrokersFile:
    """`KeptFile`, which holds what brokers say; `None`: nothing yet."""

    def __init__(self, content: bytes | None) -> None:
        self._content = content

    def load(self, decode: Callable[[bytes], T]) -> T | None:
        """What `decode` makes of it, `None` while nothing is known. Raises what `decode` raises."""
        return None if self._content is None else decode(self._content)

    def save(self, content: bytes) -> None:
        """Refuse it: users are changed at their brokers. Raises OSError."""
        raise OSError("users and policies are those of brokers: change them there")


def _check(broker: str, users: bytes) -> None:
    # A secret that was left out is an empty one to whoever reads the file.
    hidden = [user.username for user in decode(users, list[UserInfo]) if not user.password]
    if hidden:
        raise GiveUpError(
            f"broker {broker} tells no secret of {len(hidden)} users, {hidden[0]!r} among them: it shows "
            "secrets to users who may do everything; have the door ask as one (access.inner_credentials)"
        )
