"""Everything that pullers ask waits for servers that restart."""

from __future__ import annotations

import pytest
from mqframe_pull.puller.blocking_transport import BlockingPullTransport
from mqframe_pull.puller.patient_transport import PatientTransport
from mqframe_testing.manual_clock import ManualClock
from pull_remoting import ROUTE, Remoting

from mqframe.client.connection.patience import Patience
from mqframe.client.sending.blocking_transport import run_blocking
from mqframe.core.cluster.name_servers import NameServers
from mqframe.core.errors import ConnectError, ConnectionLost
from mqframe.core.requests.nameserver import GetAllTopicList
from mqframe.core.wire.frame import Frame


def test_servers_that_restart_are_waited_for() -> None:
    down, ok, clock = [ConnectError("down")] * 4, Frame(0, body=ROUTE), ManualClock()
    lost = ConnectionLost("x")
    remoting = Remoting(*down, ok, *down, ok, *down, lost, ok, ok, *down, ok, *down, ok, *down * 9)

    async def sleep(seconds: float) -> None:
        clock.advance(seconds)

    plain = BlockingPullTransport(remoting, NameServers(("n:1", "n:2"), 0), 7.0)  # type: ignore[arg-type]
    made = PatientTransport(plain, Patience(clock.monotonic, sleep, lambda: 0.5, 3.0))
    request = GetAllTopicList()
    assert run_blocking(made.route("t")).topic == "t"
    assert run_blocking(made.invoke("a:1", request, timeout=1.0)) is ok
    assert run_blocking(made.invoke_all("a:1", [request] * 2, timeout=1.0)) == [ok, ok]
    assert [address for address, _ in remoting.asked] == ["n:1", "n:2"] * 2 + ["n:1"] + ["a:1"] * 12
    assert run_blocking(made.call("a:1", request)) is ok
    assert run_blocking(made.call_nameserver(request)) is ok
    with pytest.raises(ConnectError, match="down"):
        run_blocking(made.call("a:1", request))
