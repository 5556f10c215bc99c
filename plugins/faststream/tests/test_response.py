"""Options of messages: which exclude one another, and which win."""

from __future__ import annotations

from datetime import timedelta

import pytest
from faststream.response import PublishCommand, PublishType, Response
from mqframe_faststream import MqframePublishCommand, MqframeResponse, OptionError
from mqframe_faststream.response import NO_PLAN, SendPlan, plan_of

from mqframe import MessageError, MessageQueue

QUEUE = MessageQueue("t", "b", 0)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"delay": 1, "delay_level": 1}, OptionError),
        ({"delay": 1, "deliver_at": 5}, OptionError),
        ({"delay": -1}, MessageError),
        ({"delay_level": 0}, MessageError),
        ({"queue": QUEUE, "sharding_key": "k"}, OptionError),
    ],
)
def test_what_excludes_one_another_is_an_error(options, error) -> None:
    with pytest.raises(error):
        MqframeResponse("body", **options)


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(TypeError, match="colour"):
        MqframeResponse("body", colour="red")


def test_a_plan_s_own_options_win_over_those_below() -> None:
    base = SendPlan(tag="a", keys="k", delay_level=3, sharding_key="s")
    assert NO_PLAN.over(base) is base
    assert SendPlan(tag="b").over(base) == SendPlan(tag="b", keys="k", delay_level=3, sharding_key="s")
    own = SendPlan(delay=timedelta(seconds=1), queue=QUEUE, keys=["x", "y"])
    assert own.over(base) == SendPlan(tag="a", keys=("x", "y"), delay=timedelta(seconds=1), queue=QUEUE)
    assert own.over(NO_PLAN) == own


def test_no_options_are_no_plan() -> None:
    assert plan_of({}) is NO_PLAN
    assert plan_of({"tag": "a"}).tag == "a"


def test_responses_become_commands_with_all_they_say() -> None:
    command = MqframeResponse(
        "x", headers={"h": 1}, correlation_id="c", tag="t", sharding_key="s"
    ).as_publish_command()
    assert (command.body, command.headers, command.correlation_id) == ("x", {"h": 1}, "c")
    assert (command.plan.tag, command.plan.sharding_key) == ("t", "s")
    assert MqframeResponse("x", sharding_key="s").get_publish_key() == "s"


def test_commands_of_others_become_ours() -> None:
    plain = Response([1, 2], headers={"h": "1"}, correlation_id="c").as_publish_command()
    one, several = MqframePublishCommand.from_cmd(plain), MqframePublishCommand.from_cmd(plain, batch=True)
    assert (one.batch_bodies, one.headers, one.correlation_id) == (([1, 2],), {"h": "1"}, "c")
    assert several.batch_bodies == (1, 2)
    ours = MqframeResponse([1, 2]).as_publish_command()
    assert MqframePublishCommand.from_cmd(ours, batch=True) is ours
    assert ours.batch_bodies == (1, 2)
    named = PublishCommand("x", destination="t", reply_to="r", _publish_type=PublishType.REPLY)
    copy = MqframePublishCommand.from_cmd(named)
    assert (copy.destination, copy.reply_to, copy.publish_type) == ("t", "r", PublishType.REPLY)
