"""Pulls without a loop: which name server is asked, what is kept of routes, and what errors become."""

from __future__ import annotations

from typing import Any

import pytest
from mqframe_pull.puller.blocking_transport import BlockingPullTransport
from pull_remoting import ROUTE, Remoting

from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.core.cluster.name_servers import NameServers
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, ConnectError, RouteError
from mqframe.core.requests.nameserver import GetAllTopicList
from mqframe.core.wire.frame import Frame


def transport(*answers: Any) -> tuple[BlockingPullTransport, Remoting]:
    remoting = Remoting(*answers)
    return BlockingPullTransport(remoting, NameServers(("n:1", "n:2"), 0), 7.0), remoting  # type: ignore[arg-type]


def test_routes_are_kept_until_they_are_wanted_anew() -> None:
    made, remoting = transport(Frame(0, body=ROUTE), Frame(0, body=ROUTE))
    first = run_blocking(made.route("t"))
    assert run_blocking(made.route("t")) is first
    assert run_blocking(made.route("t", refresh=True)) is not first
    assert [timeout for _, timeout in remoting.asked] == [7.0, 7.0]


def test_the_next_name_server_is_asked_when_one_cannot_be_reached() -> None:
    made, remoting = transport(ConnectError("down"), Frame(0, body=ROUTE), *[ConnectError("down")] * 2)
    assert run_blocking(made.route("t")).topic == "t"
    assert {address for address, _ in remoting.asked} == {"n:1", "n:2"}
    with pytest.raises(RouteError, match=r"no name server answered \(n:1, n:2\): down"):
        run_blocking(made.call_nameserver(GetAllTopicList()))


def test_a_refusal_is_final() -> None:
    made, remoting = transport(*[Frame(ResponseCode.TOPIC_NOT_EXIST, remark="no t")] * 2)
    with pytest.raises(RouteError, match=r"no route to topic t: .*no t"):
        run_blocking(made.route("t"))
    with pytest.raises(AnswerError, match="no t"):
        run_blocking(made.call_nameserver(GetAllTopicList()))
    assert len(remoting.asked) == 2


def test_answers_of_pulls_come_as_they_are() -> None:
    made, remoting = transport(*[Frame(ResponseCode.SYSTEM_BUSY)] * 3)
    assert run_blocking(made.invoke("a:1", GetAllTopicList(), timeout=1.0)).code == ResponseCode.SYSTEM_BUSY
    both = run_blocking(made.invoke_all("a:1", [GetAllTopicList()] * 2, timeout=2.0))
    assert [each.code for each in both] == [ResponseCode.SYSTEM_BUSY] * 2
    assert remoting.asked == [("a:1", 1.0), ("a:1", 2.0), ("a:1", 2.0)]
