from __future__ import annotations

import os
import socket
import ssl
import time
from types import SimpleNamespace

import pytest
from kombu import Connection, Consumer, Producer, Queue
from kombu.asynchronous import Hub
from kombu_workers import lasting, until
from mqframe_kombu import Transport
from mqframe_kombu.transport import hooks_of, nameservers_of, net_of
from mqframe_testing.ports import lasting_port
from mqframe_testing.server_process import ServerProcess

import mqframe
from mqframe.core.errors import ClosedError, ConnectError, FixError, RetryError, SettingError


@pytest.mark.parametrize(
    ("url", "servers"),
    [
        ("mqframe://", ["localhost:9876"]),
        ("mqframe://one", ["one:9876"]),
        ("mqframe://one:1;two:2;three", ["one:1", "two:2", "three:9876"]),
        ("mqframe://one:1/;mqframe://two:2/shop;mqframe://one:1", ["one:1", "two:2"]),
        (["mqframe://one", "mqframe://two:2"], ["one:9876", "two:2"]),
        ("mqframe://[::1]:5", ["[::1]:5"]),
        ("mqframe://u:p@one/shop", ["one:9876"]),
    ],
)
def test_all_name_servers_of_an_url_are_asked(url: str | list[str], servers: list[str]) -> None:
    client = Connection(url, transport="mqframe")
    assert nameservers_of(client) == servers
    for _ in range(len(client.alt)):
        client.maybe_switch_next()
        assert sorted(nameservers_of(client)) == sorted(servers)


def test_keys_come_from_the_url() -> None:
    assert hooks_of(Connection("mqframe://shop:se%2Fcret@one")) == [
        ("acl", {"access_key": "shop", "secret_key": "se/cret"})
    ]
    assert hooks_of(Connection("mqframe://one")) == []


def test_tls_is_said_as_for_other_transports() -> None:
    assert not net_of(False, None).tls
    assert net_of(False, 4).connect_timeout_seconds == 4
    assert net_of(True, None).tls
    whole = net_of({"ca_certs": "/ca", "certfile": "/c", "keyfile": "/k", "cert_reqs": ssl.CERT_REQUIRED}, 1)
    assert (whole.tls_ca_file, whole.tls_cert_file, whole.tls_key_file) == ("/ca", "/c", "/k")
    assert whole.tls_verify == "full"
    assert net_of({"ssl_cert_reqs": "none"}, 1).tls_verify == "none"
    with pytest.raises(SettingError, match=r"ssl has 'cafile'.*it knows ca_certs"):
        net_of({"cafile": "x"}, 1)
    with pytest.raises(SettingError, match="'maybe'; use none"):
        net_of({"cert_reqs": "maybe"}, 1)


def test_wrong_options_are_named_at_once(url: str) -> None:
    with pytest.raises(SettingError, match="did you mean visibility_timeout"):
        Connection(url, transport_options={"visibility_timout": 1}).connect()


def test_no_name_server_is_a_connection_error() -> None:
    connection = Connection(f"mqframe://127.0.0.1:{lasting_port()}")
    with pytest.raises(ConnectError, match=r"no connection to 127\.0\.0\.1"):
        connection.transport.establish_connection()
    assert issubclass(ConnectError, connection.connection_errors)


def test_what_it_says_of_itself(url: str) -> None:
    with Connection(url) as connection:
        connection.connect()
        assert connection.transport.driver_type == "mqframe"
        assert connection.transport.driver_version() == mqframe.__version__
        assert connection.as_uri().startswith("mqframe://")
        assert connection.connected
        assert connection.supports_exchange_type("fanout")
        assert not connection.supports_exchange_type("headers")
        assert connection.get_heartbeat_interval() == 0
        connection.heartbeat_check()
    assert not connection.connected


def test_draining_waits_for_as_long_as_it_is_told_and_not_longer(url: str) -> None:
    with Connection(url) as connection, Consumer(connection, [Queue("q")], on_message=print):
        processor = time.process_time()
        with lasting(0.3, 2.0), pytest.raises(socket.timeout):
            connection.drain_events(timeout=0.3)
        with pytest.raises(socket.timeout):
            connection.drain_events(timeout=0)
        assert time.process_time() - processor < 0.2  # nothing spins


def test_a_hub_is_told_of_messages(url: str) -> None:
    hub = Hub()
    found: list[str] = []
    with Connection(url) as connection:
        consumer = Consumer(connection, [Queue("q")], callbacks=[lambda body, message: found.append(body)],
                            accept=["text/plain"])  # fmt: skip
        connection.register_with_event_loop(hub)
        with consumer:
            for n in range(3):
                Producer(connection).publish(f"m{n}", routing_key="q")
            loop = hub.create_loop()
            until(lambda: next(loop) or len(found) == 3)
        assert len(hub.readers) == 1
        connection.transport.unregister_from_event_loop(connection.connection, hub)
        assert not hub.readers
        connection.register_with_event_loop(hub)
    assert not hub.readers
    assert found == ["m0", "m1", "m2"]
    hub.close()


def test_a_child_of_a_fork_opens_a_connection_of_its_own(url: str) -> None:
    with Connection(url) as connection:
        queue = Queue("q")
        producer = Producer(connection)
        producer.publish("parent", routing_key="q", declare=[queue])
        child = os.fork()
        if child == 0:
            code = 1
            try:
                assert not connection.connected
                producer.publish("child", routing_key="q", retry=True, retry_policy={"max_retries": 3})
                connection.close()
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        producer.publish("parent again", routing_key="q")
        found: list[str] = []
        with Consumer(connection, [queue], callbacks=[lambda body, message: found.append(body)],
                      accept=["text/plain"]):  # fmt: skip
            for _ in range(3):
                connection.drain_events(timeout=10)
    assert found == ["parent", "child", "parent again"]


def test_after_the_end_there_is_nothing(url: str) -> None:
    connection = Connection(url)
    connection.connect()
    channel = connection.channel()
    transport = connection.transport
    connection.close()
    with pytest.raises(ClosedError, match="open another"):
        transport.drain_events(transport, timeout=0)
    with pytest.raises(ClosedError):
        channel.queue_declare("q")
    channel.close()
    assert not transport.verify_connection(transport)


@pytest.mark.parametrize("how_long", ["short", "long"])
def test_a_broker_that_goes(tmp_path, how_long: str) -> None:
    server = ServerProcess(tmp_path)
    server.start()
    found: list[object] = []
    options = {"reconnect_after": 0.3 if how_long == "long" else 60, "request_timeout": 2}
    try:
        with Connection(f"mqframe://{server.nameserver}", transport_options=options) as connection:
            queue = Queue("q")
            Producer(connection).publish("before", routing_key="q", declare=[queue])
            consumer = Consumer(connection, [queue], on_message=found.append, accept=["text/plain"])
            consumer.consume()
            connection.drain_events(timeout=10)
            server.end()
            if how_long == "long":
                with pytest.raises(RetryError) as gone:
                    connection.drain_events(timeout=30)
                assert isinstance(gone.value, connection.connection_errors)
                assert not connection.connected
                server.start()
                return
            server.start()
            with Connection(f"mqframe://{server.nameserver}") as other:
                Producer(other).publish("after", routing_key="q", retry=True, retry_policy={"max_retries": 9})
            connection.drain_events(timeout=30)
            assert [message.payload for message in found] == ["before", "after"]
            for message in found:
                message.ack()
            until(lambda: queue(connection).queue_declare(passive=True).message_count == 0)
    finally:
        server.end()


def test_errors_are_sorted() -> None:
    assert not issubclass(FixError, Transport.connection_errors)
    assert not issubclass(SettingError, Transport.connection_errors + Transport.channel_errors)
    assert issubclass(RetryError, Transport.recoverable_connection_errors)
    assert Transport(SimpleNamespace(transport_options={})).default_connection_params["port"] == 9876
