"""A door before a broker with access control, and the calls of its users.

async with GuardedScene(topics={"orders": 1}) as scene:
    await scene.grant("shop", "Topic:orders", "Pub")             # makes the user, with SECRET
    [answer] = await scene.ask("shop", "SendMessage", sending("orders"))
"""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from typing import Any, Final

from doors import ADDRESS, CLIENT, DoorScene, MemoryCall, MemoryStream, message, receive_request
from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo, UserInfo
from mqframe_admin.access.requests import AuthCreateAcl, AuthCreateUser, AuthDeleteUser, AuthUpdateUser
from mqframe_admin.requests import UpdateAndCreateSubscriptionGroup
from mqframe_grpc.proto import messages as m

from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.requests.admin import UpdateAndCreateTopic
from mqframe.core.requests.fields import Request
from mqframe.core.wire.loose_json import dumps
from mqframe.hooks.interfaces import ProxiedClient
from mqframe.net.access.settings import AccessSettings

SECRET: Final = "12345678"
SETTINGS: Final = AccessSettings(
    authentication="acl2",
    authorization="acl2",
    initial_user=f"admin:{SECRET}",
    inner_credentials="inner:inside",
)


class Operator(ProxiedClient):
    """Who makes topics, groups and users, beside the door."""

    address = "127.0.0.1:1"
    user = "admin"


def written(now_ms: int) -> str:
    """The time in a header."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")


def signed(user: str, when: str, secret: str = SECRET) -> dict[str, str]:
    """The headers of a signed call, as keywords of `DoorScene.begin`."""
    signature = hmac.digest(secret.encode(), when.encode(), "sha1").hex()
    text = f"MQv2-HMAC-SHA1 Credential={user}, SignedHeaders=x-mq-date-time, Signature={signature}"
    return {"authorization": text, "x_mq_date_time": when}


class GuardedScene(DoorScene):
    """Its calls are signed, by whom is said first; "" signs none of them. They come from `address`, over a
    connection that shows `certificate`."""

    def __init__(self, settings: AccessSettings = SETTINGS, **options: Any) -> None:
        super().__init__(**options)
        self.cluster.enforce(settings)
        self.address = ADDRESS
        self.certificate = ""

    async def operate(self, request: Request, body: bytes = b"") -> None:
        peer = self.cluster.broker.service_port.requests.connect(Operator())
        reply = await self.finish(peer.ask(request, body))
        assert reply.code == 0, reply.remark
        peer.close("done")

    async def create_topic(self, name: str, kind: str = "NORMAL", queues: int = 4) -> None:
        await self.operate(
            UpdateAndCreateTopic(
                topic=name,
                read_queue_nums=queues,
                write_queue_nums=queues,
                perm=6,
                attributes="" if kind == "NORMAL" else f"+message.type={kind}",
            )
        )

    async def create_group(self, name: str, *, ordered: bool = False, retries: int = 16) -> None:
        config = SubscriptionGroupConfig(
            group_name=name, consume_message_orderly=ordered, retry_max_times=retries
        )
        await self.operate(UpdateAndCreateSubscriptionGroup(), dumps(config))

    # Users

    async def create_user(self, user: str) -> None:
        info = UserInfo(SECRET, user_type="Normal", username=user)
        await self.operate(AuthCreateUser(user), dumps(info))

    async def grant(self, user: str, *resources: str, actions: str = "Pub Sub", source: str = "") -> None:
        """Make a user who may do `actions` with `resources`, from `source`."""
        await self.create_user(user)
        if resources:
            entries = [
                PolicyEntryInfo(each, actions.split(), "Allow", [source] if source else None)
                for each in resources
            ]
            await self.operate(AuthCreateAcl(f"User:{user}"), dumps(AclInfo([PolicyInfo(entries)])))

    async def disable(self, user: str) -> None:
        await self.operate(AuthUpdateUser(user), dumps(UserInfo(user_status="disable", username=user)))

    async def delete(self, user: str) -> None:
        await self.operate(AuthDeleteUser(user))

    def refused(self) -> tuple[int, int]:
        """How many calls were refused to strangers, and to users."""
        counters = self.cluster.broker._listeners.refused()
        return int(counters["authenticationFailures"]), int(counters["authorizationFailures"])

    # Calls

    def headers(self, user: str) -> dict[str, str]:
        return signed(user, written(self.clock.now_ms())) if user else {}

    def _serve(self, *given: Any) -> Any:
        call = super()._serve(*given)
        # It has not begun yet.
        call._carrier.address, call._carrier.certificate = self.address, self.certificate
        return call

    def start_as(self, user: str, rpc: str, request: Any, client: str = CLIENT) -> MemoryCall:
        """A call that goes on."""
        return self.begin(rpc, request, client, 30.0, **self.headers(user))

    async def ask(self, user: str, rpc: str, request: Any, client: str = CLIENT) -> list[Any]:
        """All answers to a call."""
        return await self.call(rpc, request, client, 30.0, **self.headers(user))

    async def code(self, user: str, rpc: str, request: Any, client: str = CLIENT) -> int:
        """The code in the first answer."""
        answers = await self.ask(user, rpc, request, client)
        return int(answers[0].status.code)

    async def join_as(self, user: str, settings: m.Settings, client: str = CLIENT) -> MemoryStream:
        """A Telemetry stream, whatever the door answers to its settings."""
        return await self.join(client, settings, **self.headers(user))

    async def send_as(self, user: str, topic: str, body: bytes, client: str = "p@1", **said: Any) -> Any:
        """The entry of a message that is stored."""
        [answer] = await self.ask(user, "SendMessage", sending(topic, body, **said), client)
        assert answer.status.code == m.Code.OK, answer
        return answer.entries[0]

    async def receive_as(
        self, user: str, topic: str, group: str, client: str = CLIENT, **said: Any
    ) -> list[Any]:
        """The messages of one receive."""
        answers = await self.ask(user, "ReceiveMessage", receive_request(topic, group, **said), client)
        assert answers[0].status.code in (m.Code.OK, m.Code.MESSAGE_NOT_FOUND), answers[0]
        return [each.message for each in answers[1:] if each.WhichOneof("content") == "message"]


def sending(topic: str, body: bytes = b"o-1", **said: Any) -> m.SendMessageRequest:
    """The send of one message."""
    return m.SendMessageRequest(messages=[message(topic, body, **said)])


def acknowledging(group: str, *found: m.Message) -> m.AckMessageRequest:
    """The acknowledgement of messages of one topic."""
    entries = [
        m.AckMessageEntry(
            message_id=each.system_properties.message_id,
            receipt_handle=each.system_properties.receipt_handle,
        )
        for each in found
    ]
    return m.AckMessageRequest(group=m.Resource(name=group), topic=found[0].topic, entries=entries)
