"""Reading and writing where connections are secured and requests must be signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from mqframe_spark.source.broker_origin import BrokerOrigin
from mqframe_spark.source.broker_reading import BrokerSpanReader
from mqframe_spark.source.options import parse_options
from mqframe_spark.source.positions import Span
from mqframe_spark.wire import connect
from mqframe_testing import Cluster

from mqframe import Admin, Message, NetSettings, PluginManager, Producer, Refusal, RpcHook, hookimpl
from mqframe.core.errors import AccessError, RouteError, TlsError
from mqframe.core.wire.frame import Frame

KEYS = {"accessKey": "reader", "secretKey": "hidden-12345"}
INTERNAL = frozenset({40, 103, 104, 105})  # what the broker itself asks


class Guard(RpcHook):
    """Refuses, as Apache's brokers do, what is not signed by the one user that there is."""

    name = "guard"

    def before(self, address: str, request: Frame) -> None:
        if request.code in INTERNAL:
            return
        fields = dict(request.ext or {})
        signature = fields.pop("Signature", "")
        signed = "".join(fields[key] for key in sorted(fields)).encode() + bytes(request.body)
        expected = hmac.new(b"hidden-12345", signed, hashlib.sha1).digest()
        if fields.get("AccessKey") != "reader" or signature != base64.b64encode(expected).decode():
            raise Refusal(16, "check signature failed.")


class Offers:
    """Brings the guard to the broker."""

    @hookimpl
    def register_rpc_hooks(self) -> Any:
        return {"guard": Guard}


@pytest.fixture(scope="module")
def pems(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pems")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    return folder


@pytest.fixture(scope="module")
def guarded(pems: Path) -> Iterator[Cluster]:
    """Takes TLS only, and signed requests only; topic t holds ten messages in two queues."""
    server, ca = str(pems / "server.pem"), str(pems / "ca.pem")
    net = NetSettings(
        tls=True, tls_ca_file=ca, tls_server_mode="enforcing",
        tls_server_cert_file=server, tls_server_key_file=server,
    )  # fmt: skip
    plugins = PluginManager()
    plugins.register(Offers())
    with Cluster(sections=[net], broker={"rpc_hooks": ("guard",)}, plugins=plugins) as running:
        access = {
            "nameserver": running.nameserver,
            "net": NetSettings(tls=True, tls_ca_file=ca),
            "rpc_hooks": [("acl", {"access_key": "reader", "secret_key": "hidden-12345"})],
        }
        with Admin(**access) as admin:
            for topic in ("t", "written_true", "written_false"):
                admin.topics.create(topic, queues=2)
        with Producer("p", **access) as producer:
            for n in range(10):
                producer.send(Message("t", b"%d" % n))
        yield running


@pytest.fixture
def given(guarded: Cluster, pems: Path) -> dict[str, str]:
    """Options that let one in."""
    secured = {"tls": "true", "tlsCaFile": str(pems / "ca.pem")}
    return {"nameserver": guarded.nameserver, "topic": "t", **KEYS, **secured}


def test_driver_and_tasks_are_let_in(given: dict[str, str]) -> None:
    options = parse_options({**given, "commitToGroup": "lag"})
    origin = BrokerOrigin(options)
    heads = origin.heads(origin.queues())
    assert sum(heads.values()) == 10
    queue = min(heads)
    origin.commit("TOOLS_CONSUMER", queue, 1)
    origin.close()
    bodies = []
    for queue, end in heads.items():
        wire = connect(options.nameserver, options.group, options.access)
        for batch in BrokerSpanReader(wire, options, Span(queue, 0, end)).batches():
            bodies += batch.column("body").to_pylist()
        wire.close()
    assert sorted(bodies) == [b"%d" % n for n in range(10)]


def test_a_wrong_key_ends_the_query_at_once(given: dict[str, str]) -> None:
    pauses: list[float] = []
    origin = BrokerOrigin(parse_options({**given, "secretKey": "wrong-hidden"}), sleep=pauses.append)
    with pytest.raises(
        AccessError, match=r"check signature failed; check the keys that requests are signed with"
    ) as caught:
        origin.heads(origin.queues())
    origin.close()
    assert "hidden" not in str(caught.value)
    assert pauses == []


def test_a_wrong_authority_ends_the_query_at_once(given: dict[str, str], tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    pauses: list[float] = []
    origin = BrokerOrigin(parse_options({**given, "tlsCaFile": str(other)}), sleep=pauses.append)
    with pytest.raises(TlsError, match=r"its certificate is refused: .*set tls_ca_file"):
        origin.queues()
    origin.close()
    assert pauses == []


def test_without_tls_the_reason_is_told(given: dict[str, str]) -> None:
    plain = {name: value for name, value in given.items() if not name.startswith("tls")}
    origin = BrokerOrigin(parse_options({**plain, "retries": "0"}))
    with pytest.raises(
        RouteError, match=r"option nameserver = .*as servers do that take TLS only; .*set tls"
    ):
        origin.queues()
    origin.close()


@pytest.mark.parametrize("exactly", ["false", "true"])
def test_spark_reads_and_writes(spark: Any, given: dict[str, str], tmp_path: Path, exactly: str) -> None:
    target = {**given, "topic": f"written_{exactly}"}
    frame = spark.read.format("mqframe").options(**given).load()
    assert "hidden" not in frame._jdf.queryExecution().toString()
    more = {"exactlyOnce": exactly, "commitPath": str(tmp_path)} if exactly == "true" else {}
    frame.select("body").write.format("mqframe").mode("append").options(**target, **more).save()
    written = spark.read.format("mqframe").options(**target).load()
    assert sorted(bytes(row.body) for row in written.collect()) == [b"%d" % n for n in range(10)]
