"""Limits and TLS of connections, of servers and of clients."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, one_of, setting, settings, within
from mqframe.core.wire.frame import FRAME_BYTES_MAX


def _verify_of_conf(text: str) -> str:
    # RocketMQ's switch: its clients trust everybody, or check the chain; none of them looks at the name.
    words = {"true": "chain", "false": "none"}
    if text.lower() not in words:
        raise ValueError("must be true or false")
    return words[text.lower()]


@settings("net")
class NetSettings:
    """Limits of connections, and how they are secured. Every buffer and table has a limit."""

    frame_bytes_max: int = setting(
        FRAME_BYTES_MAX,
        doc="longest frame accepted, its length word included, bytes",
        check=within(1024, 1 << 30),
        conf="com.rocketmq.remoting.frameMaxLength",
    )
    header_bytes_max: int = setting(
        256 * 1024,
        doc="longest header of a request that a server reads, bytes; it holds a message's properties",
        check=within(64 * 1024, (1 << 24) - 1),
    )
    body_bytes_max: int = setting(
        2 * 1024 * 1024,
        doc="longest body of a request without messages, such as a heartbeat, that a server reads, bytes; "
        "reading 1 MiB keeps others waiting for some 20 ms. Registrations with name servers have their own "
        "limits",
        check=at_least(64 * 1024),
    )
    idle_seconds: float = setting(
        120.0, doc="a connection that carried no whole frame for so long is closed, s", check=at_least(0.001)
    )
    stalled_seconds: float = setting(
        30.0,
        doc="a peer that does not read what it asked for, for so long, loses its connection, s",
        check=at_least(0.001),
    )
    connect_timeout_seconds: float = setting(
        3.0, doc="longest time to open a connection, s", check=within(0.001, 20)
    )
    unsent_bytes_max: int = setting(
        8 * 1024 * 1024,
        doc="answers and requests waiting to leave on one connection; beyond it the peer is not read from, "
        "and calls are refused, bytes",
        check=at_least(64 * 1024),
    )
    in_flight_requests_max: int = setting(
        65_535,
        doc="requests that one side has sent and the other has not answered: of a client over all its "
        "connections, of a server for each connection, count",
        check=at_least(1),
    )
    in_flight_bytes_max: int = setting(
        256 * 1024 * 1024, doc="bodies of those requests, bytes", check=at_least(1024)
    )
    connections_max: int = setting(
        20_000,
        doc="connections that a server has at once; beyond it the one that was idle the longest, 60 s at "
        "least, is closed for a new one, and without one the new one is closed",
        check=at_least(1),
    )
    half_frames_bytes_max: int = setting(
        512 * 1024 * 1024,
        doc="bytes of frames that have not wholly arrived, of all connections of a server; beyond it those "
        "that have waited the longest lose their connections, bytes",
        check=at_least(1 << 20),
    )
    answers_bytes_max: int = setting(
        512 * 1024 * 1024,
        doc="answers waiting to leave on all connections of a server; beyond it those that have not read for "
        "the longest lose their connections, bytes",
        check=at_least(1 << 20),
    )
    held_bytes_max: int = setting(
        512 * 1024 * 1024,
        doc="bodies of requests that wait for their answers, of all connections of a server; beyond it "
        "requests with bodies are refused as busy, bytes",
        check=at_least(1 << 20),
    )
    busy_poll_microseconds: int = setting(
        0,
        doc="how long a server looks for the next request without sleeping, after one that came alone; 0: "
        "not at all. The servers of the command line take 150 on machines with two or more processors",
        check=within(0, 10_000),
    )
    tls: bool = setting(
        False,
        doc="whether connections that this side opens, to name servers and brokers, use TLS",
        conf="tls.enable",
    )
    tls_verify: str = setting(
        "full",
        doc="what must be right about the certificate of a server: `full`: trusted, and made out to its "
        "address; `chain`: trusted, for whatever address; `none`: nothing, so that anybody can listen",
        check=one_of("full", "chain", "none"),
        conf="tls.client.authServer",
        from_conf=_verify_of_conf,
    )
    tls_ca_file: str = setting(
        "",
        doc="PEM file of the authorities whose certificates are trusted; empty: those of this system",
        conf="tls.client.trustCertPath",
    )
    tls_cert_file: str = setting(
        "",
        doc="PEM file of the certificate, its chain after it, that this side shows to servers that ask",
        conf="tls.client.certPath",
    )
    tls_key_file: str = setting(
        "", doc="PEM file of the private key of `tls_cert_file`", conf="tls.client.keyPath"
    )
    tls_key_password: str = setting(
        "",
        doc="what `tls_key_file` is encrypted with; empty: it is not",
        conf="tls.client.keyPassword",
        secret=True,
    )
    tls_server_mode: str = setting(
        "permissive",
        doc="how servers take connections: `disabled`: plain only; `permissive`: plain, and TLS where there "
        "is a `tls_server_cert_file`, on the same port; `enforcing`: TLS only",
        check=one_of("disabled", "permissive", "enforcing"),
        conf="tls.server.mode",
    )
    tls_server_cert_file: str = setting(
        "", doc="PEM file of the certificate of servers, its chain after it", conf="tls.server.certPath"
    )
    tls_server_key_file: str = setting(
        "", doc="PEM file of the private key of `tls_server_cert_file`", conf="tls.server.keyPath"
    )
    tls_server_key_password: str = setting(
        "",
        doc="what `tls_server_key_file` is encrypted with; empty: it is not",
        conf="tls.server.keyPassword",
        secret=True,
    )
    tls_reload_seconds: float = setting(
        10.0,
        doc="how often the files named here are looked at, when connections are opened; those that were "
        "replaced count for the connections after that, s",
        check=at_least(0.1),
    )
    tls_server_client_auth: str = setting(
        "none",
        doc="whether clients that use TLS must show a certificate: `none`: they are not asked; `optional`: "
        "one that is shown must be trusted; `require`: without one there is no connection",
        check=one_of("none", "optional", "require"),
        conf="tls.server.need.client.auth",
    )
    tls_server_ca_file: str = setting(
        "",
        doc="PEM file of the authorities whose client certificates servers trust",
        conf="tls.server.trustCertPath",
    )
