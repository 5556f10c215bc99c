"""Requests for accounts of 4.9."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mqframe_acl.plain_acl import PlainAuthentication, PlainOptions
from mqframe_acl.plain_file import table_of
from mqframe_admin.access.bodies import AclConfig
from mqframe_admin.access.requests import (
    AclVersionAnswer,
    DeleteAclConfig,
    GetBrokerClusterAclConfig,
    GetBrokerClusterAclInfo,
    UpdateAndCreateAclConfig,
    UpdateGlobalWhiteAddrsConfig,
)
from mqframe_testing.conformance import AccessStage, PlainPeer

from mqframe.core.errors import Refusal
from mqframe.core.requests import encode_fields
from mqframe.core.requests.serving import Call, handlers_of
from mqframe.core.wire import loose_json
from mqframe.core.wire.frame import Frame

MAIN = """
globalWhiteRemoteAddresses: [10.0.0.*]
accounts:
- {accessKey: operator, secretKey: operator1, admin: true}
- accessKey: shop-key
  secretKey: shopsecret
  topicPerms: [orders=PUB]
"""


class Place:
    def __init__(self, root: Path) -> None:
        self.main, self.more = root / "plain_acl.yml", root / "acl/more.yml"
        self.more.parent.mkdir()
        self.main.write_text(MAIN)
        self.more.write_text("accounts:\n- {accessKey: more-key, secretKey: 12345678}\n")
        self.stage = AccessStage()
        self.plugin = PlainAuthentication(self.stage, PlainOptions(file=self.main))
        self.handlers = handlers_of(*self.plugin.serving())

    def ask(self, request: Any) -> Any:
        call = Call(Frame(request.CODE, ext=encode_fields(request)), PlainPeer(), 0.0)  # type: ignore[arg-type]
        answer: Any = self.handlers[request.CODE](call)
        return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer

    def refused(self, request: Any) -> tuple[int, str]:
        with pytest.raises(Refusal) as caught:
            self.ask(request)
        return caught.value.code, caught.value.remark

    def config(self) -> AclConfig:
        found = self.ask(GetBrokerClusterAclConfig())
        assert isinstance(found, AclConfig)
        return found

    def accounts(self, path: Path) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = table_of(path.read_text())["accounts"]
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_new_account_stands_in_the_main_file(place: Place) -> None:
    request = UpdateAndCreateAclConfig(
        "new-key0", "newsecret", "10.1.1.{1,2}", True, "DENY", "SUB", "a=PUB|SUB,b=DENY", "g=SUB"
    )
    place.ask(request)
    assert place.accounts(place.main)[-1] == {
        "accessKey": "new-key0",
        "secretKey": "newsecret",
        "whiteRemoteAddress": "10.1.1.{1,2}",
        "admin": "true",
        "defaultTopicPerm": "DENY",
        "defaultGroupPerm": "SUB",
        "topicPerms": ["a=PUB|SUB", "b=DENY"],
        "groupPerms": ["g=SUB"],
    }
    assert [each.access_key for each in place.config().plain_access_configs] == [
        "more-key", "operator", "shop-key", "new-key0",
    ]  # fmt: skip


def test_an_account_is_changed_where_it_stands_and_keeps_what_is_not_said(place: Place) -> None:
    place.ask(UpdateAndCreateAclConfig("shop-key", "another0", group_perms="g=SUB"))
    assert place.accounts(place.main)[-1] == {
        "accessKey": "shop-key",
        "secretKey": "another0",
        "topicPerms": ["orders=PUB"],
        "admin": "false",
        "groupPerms": ["g=SUB"],
    }
    place.ask(UpdateAndCreateAclConfig("more-key", "another0", topic_perms=""))
    assert [each["secretKey"] for each in place.accounts(place.more)] == ["another0"]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (UpdateAndCreateAclConfig("shop-key"), "shop-key has no secretKey"),
        (UpdateAndCreateAclConfig("short", "s3cretkey"), "have 7 characters at least"),
        (UpdateAndCreateAclConfig("shop-key", "s3cret"), "have 7 characters at least"),
        (UpdateAndCreateAclConfig("shop-key", "s3cretkey", topic_perms="a"), "is not name=DENY"),
        (UpdateAndCreateAclConfig("shop-key", "s3cretkey", topic_perms="a=ALL"), "is none of DENY"),
        (UpdateAndCreateAclConfig("shop-key", "s3cretkey", "x.y"), "x.y"),
    ],
)
def test_what_no_account_may_say(place: Place, request_: Any, said: str) -> None:
    before = place.main.read_bytes()
    code, remark = place.refused(request_)
    assert code == 209
    assert said in remark
    assert "s3cret" not in remark
    assert place.main.read_bytes() == before


def test_an_account_is_deleted(place: Place) -> None:
    place.ask(DeleteAclConfig("more-key"))
    assert place.accounts(place.more) == []
    assert place.refused(DeleteAclConfig("more-key")) == (210, "there is no account more-key")
    assert [each.access_key for each in place.config().plain_access_configs] == ["operator", "shop-key"]


def test_white_addresses_are_replaced_in_one_file(place: Place) -> None:
    place.ask(UpdateGlobalWhiteAddrsConfig("10.2.0.{1,2},10.3.*.*"))
    assert place.config().global_white_addrs == ["10.2.0.{1,2}", "10.3.*.*"]
    place.ask(UpdateGlobalWhiteAddrsConfig("10.9.9.9", str(place.more)))
    assert place.config().global_white_addrs == ["10.9.9.9", "10.2.0.{1,2}", "10.3.*.*"]
    for path in ("/etc/passwd", str(place.main.with_name("none.yml")), "plain_acl.yml"):
        code, remark = place.refused(UpdateGlobalWhiteAddrsConfig("10.9.9.9", path))
        assert (code, "is none of the files" in remark) == (211, True)
    assert place.refused(UpdateGlobalWhiteAddrsConfig("10.9.9.999"))[0] == 211


def test_versions_are_told_with_the_broker(place: Place) -> None:
    place.ask(DeleteAclConfig("more-key"))
    found = place.ask(GetBrokerClusterAclInfo())
    assert isinstance(found, AclVersionAnswer)
    assert (found.broker_name, found.broker_addr, found.cluster_name) == (
        "broker-a", "127.0.0.1:10911", "DefaultCluster",
    )  # fmt: skip
    assert loose_json.loads(found.version) == {"counter": 0, "timestamp": 0}
    assert loose_json.loads(found.all_acl_file_version or "") == {
        str(place.more): {"counter": 1, "timestamp": place.stage.clock.now_ms()},
        str(place.main): {"counter": 0, "timestamp": 0},
    }


def test_accounts_are_shown_whole_but_in_no_log(place: Place) -> None:
    shop = place.config().plain_access_configs[-1]
    assert (shop.secret_key, shop.topic_perms, shop.admin) == ("shopsecret", ["orders=PUB"], False)
    assert "shopsecret" not in repr(place.config())


def test_a_file_that_cannot_be_written_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    code, remark = place.refused(DeleteAclConfig("shop-key"))
    assert code == 210
    assert "nothing was changed" in remark
    assert "shop-key" in place.main.read_text()
