"""Who leads, who follows, and how far behind."""

from __future__ import annotations

from pkgutil import resolve_name

import pytest
from mqframe_admin.rules.replica import Replica
from mqframe_dashboard.pages.replication import behind_text, state_of
from parsed_page import ParsedPage

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, ConnectError
from mqframe.core.wire.frame import Frame

LIST = "mqframe_admin.client.replicas.AsyncReplicaAdmin.list"
RUNTIME = "mqframe_admin.client.brokers.AsyncBrokerAdmin.runtime"
CALL = "mqframe_admin.client.brokers.AsyncBrokerAdmin.call"
NOW = 1_700_000_000_000


def test_a_master_alone_is_shown_with_its_disk(browser):
    page = ParsedPage(browser.page("/replication"))
    [role] = page.tables["Roles"]
    assert (role["broker"], role["id"], role["state"]) == ("broker-a", "0", "alone: no slave is connected")
    [log] = page.tables["Logs"]
    assert (log["behind bytes"], log["behind"]) == ("", "")
    assert log["log end"].isdecimal()
    [disk] = page.tables["Disks"]
    assert disk["used"].endswith("%")
    assert disk["capacity"].startswith("Total : ")
    assert "no slave is connected" in page.text
    assert "nothing, as far as brokers say" in page.text


def test_a_group_of_brokers_shows_roles_lags_and_what_stands_in_the_way(browser, monkeypatch):
    replicas = [
        Replica("c", "broker-a", 0, "a:1", role="SYNC_MASTER", log_end=900, slaves=2, in_sync=1),
        Replica(
            "c", "broker-a", 1, "b:1", role="SLAVE", log_end=400, behind_bytes=500, behind_since_ms=NOW,
            master="a:2",
        ),
        Replica("c", "broker-a", 2, "", trouble="it is not there, as the others of its group know"),
        Replica("c", "broker-b", 0, "d:1", role="LEADER", epoch=7, confirmed=33, members=(0, 2)),
    ]  # fmt: skip

    async def listed(self, broker=None):
        return replicas

    async def runtime(self, address):
        if address == "d:1":
            raise ConnectError("cannot be reached <b>")
        trouble = (
            {"replicationTrouble": "its log differs", "replicationMissing": "2"} if address == "b:1" else {}
        )
        return {"commitLogDiskRatio": "0.91", "earliestMessageTimeStamp": str(NOW), **trouble}

    monkeypatch.setattr(LIST, listed)
    monkeypatch.setattr(RUNTIME, runtime)
    html = browser.page("/replication")
    page = ParsedPage(html)
    assert [(row["id"], row["role"], row["state"], row["epoch"]) for row in page.tables["Roles"]] == [
        ("0", "SYNC_MASTER", "2 slaves connected, 1 in sync", ""),
        ("1", "SLAVE", "follows a:2", ""),
        ("2", "not known", "it is not there, as the others of its group know", ""),
        ("0", "LEADER", "in sync: 0, 2", "7"),
    ]
    assert page.column("Roles", "address")[2] == "not registered"
    assert page.column("Logs", "behind bytes") == ["", "500", "", ""]
    assert page.column("Logs", "behind")[1].endswith(" d")
    assert [(row["id"], row["said"]) for row in page.tables["What stands in the way"]] == [
        ("1", "its log differs"),
        ("1", "2 stretches of its log that it lacks"),
        ("2", "it is not there, as the others of its group know"),
        ("0", "it does not answer: cannot be reached <b>"),
    ]
    assert page.column("Disks", "used") == ["91%", "91%", "not known", "not known"]
    assert page.column("Disks", "oldest message")[0] == "2023-11-14 22:13:20Z"
    assert "<b>" not in html


def test_slaves_are_shown_as_their_masters_see_them(browser, monkeypatch):
    asked = resolve_name(CALL)
    body = (
        b'{"master":true,"haConnectionInfo":[{"addr":"10.0.0.2:33","diff":70,"inSync":false,'
        b'"slaveAckOffset":30,"transferFromWhere":40,"transferredByteInSecond":5}]}'
    )

    async def call(self, broker, request, body_=b""):
        assert (await asked(self, broker, request, body_)).body
        return Frame(0, body=body)

    monkeypatch.setattr(CALL, call)
    page = ParsedPage(browser.page("/replication"))
    assert page.tables["Slaves, as their masters see them"] == [
        {
            "master": "broker-a",
            "slave": "10.0.0.2:33",
            "in sync": "no",
            "behind bytes": "70",
            "has up to": "30",
            "is sent from": "40",
            "bytes per s": "5",
        }
    ]


def test_a_broker_without_the_plugin_says_what_to_install(browser, monkeypatch):
    async def unknown(self, broker, request, body=b""):
        raise AnswerError(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, "not supported", "a:1")

    monkeypatch.setattr(CALL, unknown)
    page = browser.page("/replication")
    assert "broker-a cannot be copied: mqframe-plugin-replication is not installed there" in page
    assert "pip install mqframe-plugin-replication" in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"trouble": "away"}, "away"),
        ({"members": ()}, "in sync: nobody"),
        ({"slaves": 1, "in_sync": 1}, "1 slave connected, 1 in sync"),
        ({"master": ""}, "does not say"),
    ],
)
def test_how_a_broker_stands_is_said_in_words(fields, said):
    assert state_of(Replica("c", "a", 0, "a:1", **fields)) == said


def test_how_long_a_slave_has_been_behind_is_known_or_not():
    def said(**fields):
        return behind_text(Replica("c", "a", 1, "a:1", **fields), NOW)

    assert said() == ""
    assert said(behind_bytes=0) == "0 s"
    assert said(behind_bytes=9) == "not known"
    assert said(behind_bytes=9, behind_since_ms=NOW - 90_000) == "90 s"
