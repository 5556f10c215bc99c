"""One pull over a scripted broker: as a lite pull where the broker knows it, as a plain one elsewhere."""

from __future__ import annotations

import pytest
from mqframe_testing.consuming import ClientScene

from mqframe.client.configuration.fetch_options import FetchOptions
from mqframe.client.consuming.group import pulls
from mqframe.client.consuming.group.pulls import QueuePulls
from mqframe.client.consuming.group.subscriptions import TopicSubscription
from mqframe.core.consuming.flow_control import FetchLimits, FlowLimits
from mqframe.core.errors import AnswerError
from mqframe.core.filtering.filter_expression import Sql, filter_of
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.requests.messages import LitePullMessage, PullMessage
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import Body

UNKNOWN = AnswerError(3, "request type 361 not supported", "a:1")


class Scene(ClientScene):
    """Pulls of a consumer, `lite` or not."""

    def __init__(self) -> None:
        super().__init__({"orders": 1})
        self.broker.put("orders", 0, b"a", b"b")

    def pulls(self, *, lite: bool, messages_max: int = 4) -> QueuePulls:
        limits = FetchLimits(queue=FlowLimits(1000, 1 << 20, 1000))
        options = FetchOptions(
            group="g", clock=self.clock, limits=limits, messages_max=messages_max, bytes_max=1000,
            wait_seconds=10.0, timeout_seconds=30.0, lite=lite,
        )  # fmt: skip
        return QueuePulls(self.instance, options)

    async def pull(self, made: QueuePulls, expression: str | Sql = "*") -> list[bytes]:
        wanted = TopicSubscription("orders", filter_of(expression), 7)
        queue = self.broker.queue("orders", 0)
        result = await self.finish(made.pull(queue, 0, wanted, 0, None))
        return [message.body for message in result.messages]


async def test_a_broker_that_knows_no_lite_pulls_is_asked_for_one_once():
    async with Scene() as scene:
        scene.broker.script(LitePullMessage, UNKNOWN)
        made = scene.pulls(lite=True)
        for _ in range(3):
            assert await scene.pull(made) == [b"a", b"b"]
        assert len(scene.broker.sent(LitePullMessage)) == 1
        plain = scene.broker.sent(PullMessage)
        assert len(plain) == 3
        # Nothing but the code is another: the filter goes along with each pull.
        assert {each.subscription for each in plain} == {"*"}
        assert {each.sys_flag for each in plain} == {scene.broker.sent(LitePullMessage)[0].sys_flag & ~16}


async def test_a_broker_that_knows_them_gets_nothing_else():
    async with Scene() as scene:
        assert await scene.pull(scene.pulls(lite=True)) == [b"a", b"b"]
        assert scene.broker.sent(PullMessage) == []
        assert await scene.pull(scene.pulls(lite=False)) == [b"a", b"b"]
        [plain] = scene.broker.sent(PullMessage)
        assert (plain.subscription, plain.sub_version) == (None, 7)


async def test_who_asks_for_more_than_is_usual_says_that_it_reads_in_bulk():
    async with Scene() as scene:
        for messages_max in (32, 33):
            assert await scene.pull(scene.pulls(lite=False, messages_max=messages_max)) == [b"a", b"b"]
        usual, bulk = scene.broker.sent(PullMessage)
        assert (usual.max_msg_nums, usual.mqframe_bulk) == (32, None)
        assert (bulk.max_msg_nums, bulk.mqframe_bulk) == (33, True)


async def test_messages_are_read_by_what_is_installed_for_that(monkeypatch: pytest.MonkeyPatch):
    def read(body: Body, broker_name: str) -> list[ReceivedMessage]:
        return list(decode_records(body, broker_name.upper()))[::-1][:1]

    monkeypatch.setattr(pulls, "part_or", lambda name, usual: {"records": read}[name])
    async with Scene() as scene:
        made = scene.pulls(lite=False)
        assert await scene.pull(made) == [b"b"]


async def test_other_refusals_are_raised():
    async with Scene() as scene:
        scene.broker.script(LitePullMessage, AnswerError(16, "the consumer group has not permission", "a:1"))
        with pytest.raises(AnswerError, match="has not permission"):
            await scene.pull(scene.pulls(lite=True))
        scene.broker.script(PullMessage, UNKNOWN)
        with pytest.raises(AnswerError, match="361 not supported"):
            await scene.pull(scene.pulls(lite=False))
