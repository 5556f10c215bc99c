"""`mqframe replica elect --to` and `step-down` of an elected group in processes of its own, under load."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from command_runs import read, run
from elected_group import ElectedGroup, SharedFile
from mqframe_admin.client.calls import AdminCalls
from real_time import until
from steady_load import Sender, consuming, rests, sending, stored

from mqframe import AnswerError, FixError
from mqframe.core.cluster.route_bodies import ClusterInfo

SETTINGS = ("election.first_wait_ms=500", "replication.tables_interval_ms=1000")


def test_a_lead_goes_round_under_load_and_all_that_was_acknowledged_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ElectedGroup(tmp_path, SharedFile(tmp_path), *SETTINGS) as group:
        monkeypatch.setenv("NAMESRV_ADDR", group.nameserver)
        group.leader()
        until(lambda: group.in_sync() == (1, 2, 3))
        sender = Sender(group.nameserver)
        with consuming(group.nameserver) as consumed, sending(sender):
            until(lambda: len(sender.acknowledged) > 50)
            epoch = 1
            for _ in range(2):
                leader = group.leader()
                heir = group.others(leader)[-1]
                before = len(sender.acknowledged)
                made = read("replica", "elect", "group-a", "--to", str(heir.number))
                epoch += 1
                assert (made["before"], made["to"]) == (leader.number, heir.number)
                assert (made["leader"], made["epoch"]) == (heir.number, epoch)
                assert group.leader() is heir
                until(lambda before=before: len(sender.acknowledged) > before + 50)  # type: ignore[misc]
                until(lambda: group.in_sync() == (1, 2, 3))
            leader = group.leader()
            made = read("replica", "step-down", "group-a")
            assert made["leader"] == made["to"] != leader.number
            before = len(sender.acknowledged)
            until(lambda: len(sender.acknowledged) > before + 50)
            sender.stop()
            assert rests([sender])
            until(lambda: set(sender.acknowledged) <= set(consumed))
        found = stored(group.nameserver)
        assert [found[body] for body in sender.acknowledged] == [1] * len(sender.acknowledged)
        # What was answered otherwise may be there, and nothing else.
        assert set(found) <= {*sender.acknowledged, *sender.failed}
        until(lambda: group.in_sync() == (1, 2, 3))
        group.until_alike()


def test_whom_the_lead_may_not_go_to_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ElectedGroup(tmp_path, SharedFile(tmp_path), *SETTINGS, count=2) as group:
        monkeypatch.setenv("NAMESRV_ADDR", group.nameserver)
        leader = group.leader()
        (other,) = group.others(leader)
        until(lambda: group.in_sync() == (1, 2))
        with pytest.raises(
            AnswerError, match=f"broker {leader.number} is not handed the lead: it leads already"
        ):
            group.admin.replicas.hand_over("group-a", leader.number)
        with pytest.raises(FixError, match="no broker named group-b is registered"):
            group.admin.replicas.hand_over("group-b")
        run("replica", "elect", "group-a", code=2)
        run("replica", "elect", "group-a", "2", "--to", "2", code=2)
        # Whoever looks while roles change may find nobody registered.
        real, looks = AdminCalls.cluster_info, count(1)

        async def cluster_info(calls: AdminCalls) -> ClusterInfo:
            found = await real(calls)
            return ClusterInfo() if next(looks) == 2 else found

        monkeypatch.setattr(AdminCalls, "cluster_info", cluster_info)
        made = group.admin.replicas.hand_over("group-a", other.number)
        assert (made.before, made.to, made.leader) == (leader.number, other.number, other.number)
        assert next(looks) > 3
        until(lambda: group.in_sync() == (1, 2))
        leader, other = other, leader
        other.kill()
        until(lambda: group.in_sync() == (leader.number,))
        with pytest.raises(AnswerError, match=f"broker {other.number} is not handed the lead: it is not"):
            group.admin.replicas.hand_over("group-a", other.number)
        with pytest.raises(AnswerError, match="there is nobody to hand the lead to"):
            group.admin.replicas.hand_over("group-a")
        assert group.leader() is leader
