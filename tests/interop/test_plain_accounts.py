"""mqadmin of RocketMQ 4.9 on accounts in files: the same of Apache's broker and ours, files included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from mqframe_testing import Cluster

from interop.apache import Apache
from interop.conftest import java_class_path, java_client, starting
from interop.foreign_programs import OLDER, write_logs
from interop.servers import Servers
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.settings import AccessSettings

pytestmark = [pytest.mark.proves("users"), pytest.mark.long]

ADMIN = ("administrator", "12345678")
MAIN = """\
globalWhiteRemoteAddresses:
- 10.10.103.*
accounts:
- accessKey: administrator
  secretKey: '12345678'
  admin: true
"""
MORE = """\
accounts:
- accessKey: elsewhere
  secretKey: '12345678'
  whiteRemoteAddress: ''
  admin: false
  defaultTopicPerm: DENY
"""
Run = Callable[..., list[str]]


@pytest.fixture(params=["apache", "ours"])
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Servers]:
    """Servers with `conf/plain_acl.yml` and `conf/acl/more.yml` below the folder of the test."""
    conf = tmp_path / "conf"
    (conf / "acl").mkdir(parents=True)
    (conf / "plain_acl.yml").write_text(MAIN)
    (conf / "acl/more.yml").write_text(MORE)
    keys: dict[str, Any] = {
        "rpc_hooks": [("acl", dict(zip(("access_key", "secret_key"), ADMIN, strict=True)))]
    }
    if request.param == "apache":
        running = Apache(java_class_path(OLDER), tmp_path, conf="aclEnable=true\n", access=keys)
        with running:
            yield running.servers
        return
    plugins = PluginManager().configured({"plain_acl": {"file": str(conf / "plain_acl.yml")}})
    cluster = Cluster(plugins=plugins)
    cluster.cluster.enforce(AccessSettings(plain=True, inner_credentials="inner:of the servers"))
    with cluster:
        yield Servers(cluster.nameserver, cluster.broker.address, "broker-a", "DefaultCluster")


@pytest.fixture
def mqadmin(guarded: Servers, tmp_path: Path) -> Iterator[Run]:
    """Runs one command on the broker and returns the lines that it prints."""

    def run(*words: object, secret: str = ADMIN[1]) -> list[str]:
        command, *rest = map(str, words)
        # It signs with what stands there, not with what it is given.
        (home / "conf/tools.yml").write_text(f"accessKey: {ADMIN[0]}\nsecretKey: '{secret}'\n")
        facts = start(guarded.nameserver, ADMIN[0], secret, command, "-b", guarded.broker, *rest).finish()
        return [fact[1] for fact in facts if len(fact) > 1]

    home, jars = tmp_path / "tools", java_class_path(OLDER)
    home.mkdir()
    write_logs(home)
    flags = [f"-Drocketmq.home.dir={home}"]
    starts = starting(lambda words: java_client(jars, ["Access", "mqadmin", *words], home, flags))
    start = next(starts)
    yield run
    next(starts, None)


def test_accounts_are_made_changed_shown_and_deleted(guarded: Servers, mqadmin: Run, tmp_path: Path) -> None:
    main, more = tmp_path / "conf/plain_acl.yml", tmp_path / "conf/acl/more.yml"
    made = mqadmin(
        "updateAclConfig", "-a", "shop-key", "-s", "01234567", "-w", "192.168.0.*", "-i", "DENY", "-u", "SUB",
        "-t", "orders=PUB|SUB,closed=DENY", "-g", "readers=SUB", "-m", "false",
    )  # fmt: skip
    assert f"create or update plain access config to {guarded.broker} success." in made
    mqadmin("updateAclConfig", "-a", "shop-key", "-s", "76543210", "-g", "writers=PUB")
    mqadmin("updateAclConfig", "-a", "elsewhere", "-s", "87654321", "-m", "true")
    shown = mqadmin("getAclConfig")
    assert shown[1].split(":", 1)[1].strip() == "[10.10.103.*]"
    accounts = dict(line.split(":", 1) for line in shown if line.startswith(("accessKey", "groupPerms")))
    assert len([line for line in shown if line.startswith("accessKey")]) == 3, accounts
    assert any("76543210" in line for line in shown)
    versions = [line.split() for line in mqadmin("clusterAclConfigVersion") if ".yml" in line]
    assert sorted((words[0], words[1], words[3], words[4]) for words in versions) == [
        (guarded.cluster, guarded.broker_name, str(more), "1"),
        (guarded.cluster, guarded.broker_name, str(main), "2"),
    ]
    white = mqadmin("updateGlobalWhiteAddr", "-g", "10.2.*.*,10.3.0.7", "-p", main)
    assert f"update global white remote addresses to {guarded.broker} success." in white
    deleted = mqadmin("deleteAclConfig", "-a", "elsewhere")
    assert f"delete plain access config account from {guarded.broker} success." in deleted
    written = yaml.safe_load(main.read_text())
    assert isinstance(written["dataVersion"][0].pop("timestamp"), int)
    assert written == {
        "globalWhiteRemoteAddresses": ["10.2.*.*", "10.3.0.7"],
        "accounts": [
            {"accessKey": "administrator", "secretKey": "12345678", "admin": True},
            {
                "accessKey": "shop-key",
                "secretKey": "76543210",
                "whiteRemoteAddress": "192.168.0.*",
                "admin": False,
                "defaultTopicPerm": "DENY",
                "defaultGroupPerm": "SUB",
                "topicPerms": ["orders=PUB|SUB", "closed=DENY"],
                "groupPerms": ["writers=PUB"],
            },
        ],
        "dataVersion": [{"counter": 3}],
    }
    assert list(written["accounts"][1])[:4] == ["accessKey", "secretKey", "whiteRemoteAddress", "admin"]
    assert yaml.safe_load(more.read_text())["accounts"] == []


def test_who_has_the_wrong_secret_changes_nothing(mqadmin: Run, tmp_path: Path) -> None:
    before = (tmp_path / "conf/plain_acl.yml").read_bytes()
    words = ("updateAclConfig", "-a", "shop-key", "-s", "01234567", "-m", "true")
    assert "success" not in " ".join(mqadmin(*words, secret="another0"))
    assert (tmp_path / "conf/plain_acl.yml").read_bytes() == before
