"""RocketMQ's keys that ask for more than there is: what is said, and what stops a start."""

from __future__ import annotations

import pytest
from mqframe_cli.settings.properties_file import broker_conf
from mqframe_cli.settings.rocketmq_meanings import ROCKETMQ
from mqframe_replication.settings import ReplicationSettings

from mqframe.core.config.configuration import Resolved, resolve
from mqframe.core.config.layers import Given, Layer, Rank, command_line, environment, toml
from mqframe.core.config.suggestions import did_you_mean
from mqframe.core.errors import SettingError
from mqframe.nameserver import NameServerSettings
from mqframe.store.settings import StoreSettings

DLEDGER = """
enableDLegerCommitLog=true
dLegerGroup=RaftNode00
dLegerPeers=n0-127.0.0.1:40911;n1-127.0.0.1:40912;n2-127.0.0.1:40913
dLegerSelfId=n0
"""
CONTROLLED = "brokerId=-1\nbrokerRole=SLAVE\nenableControllerMode=true\ncontrollerAddr=127.0.0.1:9878\n"
BROKER = [ReplicationSettings, StoreSettings]


def of(conf: str, *more: object, kinds: object = BROKER) -> Resolved:
    return resolve(kinds, [broker_conf(conf, "broker.conf"), *more], dialect=ROCKETMQ)  # type: ignore[arg-type,list-item]


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        (DLEDGER, r'enableDLegerCommitLog from broker.conf:2 .* role = "ELECTED" below \[replication\]'),
        ("dLegerPeers=n0-127.0.0.1:40911", r"dLegerPeers from broker.conf:1 .*replication.role=ELECTED"),
        ("enableDLegerCommitLog = TRUE", "asks for a log that DLedger keeps"),
        (CONTROLLED, r"enableControllerMode from broker.conf:3 .*replication.role=ELECTED.*replication.id=1"),
        (
            "storeType=defaultRocksDB",
            "storeType = defaultRocksDB from broker.conf:1: queues and tables in RocksDB",
        ),
        (
            "readOnlyCommitLogStorePaths=/old",
            "readOnlyCommitLogStorePaths from broker.conf:1: a log in several",
        ),
        (
            "storePathRootDir=/data\nstorePathCommitLog=/fast/commitlog",
            r"storePathCommitLog = /fast/commitlog .* is in /data/commitlog here",
        ),
        (
            "storePathRootDir=/data\nstorePathCommitLog=/data/commitlog,/b/commitlog",
            "is in /data/commitlog here",
        ),
    ],
)
def test_what_asks_for_another_kind_of_broker_never_starts(conf: str, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        of(conf)


@pytest.mark.parametrize(
    "conf",
    [
        "enableDLegerCommitLog=false\ndLegerGroup=RaftNode00\ndLegerSelfId=n0\n",
        "enableControllerMode=false\ncontrollerAddr=127.0.0.1:9878\n",
        "storeType=default\n",
        "storePathRootDir=/data/\nstorePathCommitLog=/data/./commitlog/\n",
        "storePathCommitLog=/data/commitlog\n",
    ],
)
def test_the_same_keys_with_what_is_here_are_passed_over(conf: str) -> None:
    assert of(conf).section(ReplicationSettings).role == "NONE"


@pytest.mark.parametrize(
    "said",
    [
        toml('[replication]\nrole = "ELECTED"\nid = 1\n', "server.toml"),
        command_line(["replication.role=ELECTED", "replication.id=1"]),
        environment({"MQFRAME_REPLICATION_ROLE": "ELECTED", "MQFRAME_REPLICATION_ID": "1"}),
        Layer(
            Rank.ARGUMENT,
            (Given("replication.role", "ELECTED", "code"), Given("replication.id", 1, "code")),
        ),
    ],
)
@pytest.mark.parametrize("conf", [DLEDGER, CONTROLLED.replace("brokerId=-1", "brokerId=2")])
def test_whoever_says_elected_keeps_the_rest_of_the_file(conf: str, said: object) -> None:
    assert of(conf, said).section(ReplicationSettings).role == "ELECTED"


def test_a_name_server_passes_over_what_its_brokers_are() -> None:
    assert of(DLEDGER, kinds=[NameServerSettings]).section(NameServerSettings).port == 9876


def test_a_log_elsewhere_is_passed_over_when_the_store_is_named_besides() -> None:
    conf = "storePathRootDir=/data\nstorePathCommitLog=/fast/commitlog"
    assert str(of(conf, command_line(["store.directory=/new"])).section(StoreSettings).directory) == "/new"


def test_a_key_of_4_x_counts_by_its_name_of_5_x() -> None:
    found = of("haSlaveFallbehindMax=1000")
    assert (found.section(ReplicationSettings).behind_bytes_max, found.warnings) == (1000, ())
    assert {entry.origin for entry in found.entries} >= {"broker.conf:1 haSlaveFallbehindMax"}


def test_each_kind_of_key_without_effect_is_told_in_its_own_line() -> None:
    found = of(
        "sendMessageThreadPoolNums=16\nstoreCheckpoint=/x\nsendMsgTimeout=3000\ngrpcServerPort=8081\n"
        "brokerIP2=10.0.0.1\nfetchNamesrvAddrByAddressServer=true\nrmqAddressServerDomain=a\n"
        "isBrokerContainer=false\n"
    )
    assert found.warnings == (
        "known to RocketMQ but without effect here: isBrokerContainer, sendMessageThreadPoolNums, "
        "storeCheckpoint",
        "keys of RocketMQ's proxy, of which there is none here: grpcServerPort",
        "keys of Java's clients, which servers do not read; those of Python have sections of their own: "
        "sendMsgTimeout",
        "brokerIP2 without effect: slaves reach a master by the host that clients do: brokerIP1, or "
        "broker.advertise",
        "fetchNamesrvAddrByAddressServer, rmqAddressServerDomain without effect: name servers are listed: "
        "namesrvAddr, or broker.nameservers",
    )


@pytest.mark.parametrize("wrong", ["flushDiskTyp", "brokerNam", "tls.server.mod", "namesrvAdr", "dLegerGrup"])
def test_a_hint_names_no_key_twice(wrong: str) -> None:
    with pytest.raises(SettingError) as caught:
        of(f"{wrong}=1")
    names = str(caught.value).partition("did you mean ")[2].rstrip("?").split(" or ")
    assert len(names) == len(set(names)) >= 1
    assert did_you_mean("abcd", ["abce", "abce"]) == "did you mean abce?"


def test_a_mark_before_the_text_is_passed_over() -> None:
    mark = "\ufeff"
    assert of(f"{mark}brokerRole=SYNC_MASTER\n").section(ReplicationSettings).role == "SYNC_MASTER"
    found = resolve(BROKER, [toml(f'{mark}[replication]\nrole = "SYNC_MASTER"\n', "server.toml")])
    assert found.section(ReplicationSettings).role == "SYNC_MASTER"
