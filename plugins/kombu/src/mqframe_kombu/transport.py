"""The transport: URLs, options, connections and their events."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from kombu.transport import virtual
from kombu.utils.url import parse_url

import mqframe
from mqframe import NetSettings
from mqframe.core.errors import AnswerError, ClosedError, FixError, ReceiptError, RetryError, SettingError
from mqframe_kombu.channel import Channel
from mqframe_kombu.greenlets import greenlet_library
from mqframe_kombu.link import Link
from mqframe_kombu.options import TransportOptions, options_of

DEFAULT_PORT = 9876
SSL_NAMES = {"ca_certs": "tls_ca_file", "certfile": "tls_cert_file", "keyfile": "tls_key_file"}
SSL_CHECKS = {"none": "none", "optional": "none", "required": "full"}


class Transport(virtual.Transport):  # type: ignore[misc]
    """`mqframe://[access key:secret key@]name server[:port][/virtual host]`.

    Several name servers: `mqframe://one:9876;two:9876`, or a list of URLs. `client`: kombu's connection.
    Raises `SettingError` for transport options that are not known, or wrong.
    """

    Channel = Channel
    default_port = DEFAULT_PORT
    driver_type = "mqframe"
    driver_name = "mqframe"
    polling_interval = None
    connection_errors = (*virtual.Transport.connection_errors, RetryError, ClosedError, OSError)
    channel_errors = (*virtual.Transport.channel_errors, AnswerError, ReceiptError)
    recoverable_connection_errors = connection_errors
    recoverable_channel_errors = ()
    implements = virtual.Transport.implements.extend(
        asynchronous=True, exchange_type=frozenset({"direct", "topic", "fanout"})
    )

    def __init__(self, client: Any, **kwargs: Any) -> None:
        super().__init__(client, **kwargs)
        self.options: TransportOptions = options_of(client.transport_options or {})
        self._link: Link | None = None
        self._unwatch: Callable[[], None] | None = None

    @property
    def link(self) -> Link:
        """What serves the connection. Raises `ClosedError` unless it was established."""
        if self._link is None:
            raise ClosedError("the connection to mqframe was closed; open another")
        return self._link

    def driver_version(self) -> str:
        """The version of mqframe."""
        return mqframe.__version__

    def establish_connection(self) -> Transport:
        """Connect. Raises `ConnectError` when no name server answers, or none knows a broker.

        Raises `FixError` where threads are greenlets.
        """
        if (library := greenlet_library()) is not None:
            raise FixError(
                f"mqframe:// needs threads and sockets as they are, and {library} has replaced them; "
                "run workers with the pools prefork, threads or solo (`celery worker -P threads -c 100` for "
                "tasks that wait), web servers that send tasks with threads (`gunicorn -k gthread`)"
            )
        client = self.client
        link = Link(
            ";".join(nameservers_of(client)),
            self.options,
            virtual_host=client.virtual_host or "",
            hooks=hooks_of(client),
            net=net_of(client.ssl, client.connect_timeout),
        )
        link.start()
        self._link = link
        return self

    def close_connection(self, connection: Transport) -> None:
        """Close all channels, then the connection."""
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None
        for channel in list(self.channels):
            channel.close()
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def create_channel(self, connection: Transport) -> Any:
        """A new channel."""
        channel = self.Channel(connection)
        self.channels.append(channel)
        return channel

    def verify_connection(self, connection: Transport) -> bool:
        """Whether the connection can be used. After a fork it cannot."""
        return self._link is not None and self._link.alive

    def drain_events(self, connection: Transport, timeout: float | None = None, **kwargs: Any) -> None:
        """Have one message delivered. Raises `TimeoutError` when none came within `timeout` seconds."""
        call = self.link.inbox.take(timeout)
        if call is None:
            raise socket.timeout("timed out")  # noqa: UP041 - what callers of kombu look for
        call()

    def register_with_event_loop(self, connection: Transport, loop: Any) -> None:
        """Have the hub of a worker watch for messages."""
        number = self.link.inbox.fileno()
        loop.add_reader(number, self.on_readable, loop)
        self._unwatch = lambda: loop.remove(number)

    def unregister_from_event_loop(self, connection: Transport, loop: Any) -> None:
        """Have it watch no more."""
        if self._unwatch is not None:
            self._unwatch()
            self._unwatch = None

    def on_readable(self, loop: Any) -> None:
        """Deliver what is there."""
        while self._link is not None and (call := self._link.inbox.take(0)) is not None:
            call()

    @property
    def default_connection_params(self) -> dict[str, Any]:
        """What holds where an URL says nothing."""
        return {"hostname": "localhost", "port": DEFAULT_PORT}


def nameservers_of(client: Any) -> list[str]:
    """ "host:port" of all name servers that a connection of kombu may ask."""
    found = []
    for other in client.alt or ():
        parts = parse_url(other) if "://" in other else {}
        host = parts.get("hostname") or "localhost" if parts else other.rstrip("/")
        found.append(_address(host, parts.get("port")))
    # A connection that was switched to another server keeps the port of the one before.
    now = _address(client.hostname or "localhost", client.port)
    if now.rpartition(":")[0] not in [each.rpartition(":")[0] for each in found]:
        found.insert(0, now)
    return list(dict.fromkeys(found))


def _address(host: str, port: int | None) -> str:
    name, colon, number = host.rpartition(":")
    if colon and number.isdecimal() and (":" not in name or name.startswith("[")):
        return host
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    return f"{host}:{port or DEFAULT_PORT}"


def hooks_of(client: Any) -> list[object]:
    """The hook that signs requests, when the URL has an access key and a secret key."""
    if not client.userid:
        return []
    password = client.password() if callable(client.password) else client.password
    return [("acl", {"access_key": unquote(client.userid), "secret_key": unquote(password or "")})]


def net_of(ssl: Any, connect_timeout: float | None) -> NetSettings:
    """Settings of connections: how long opening one may take, s, and how they are secured.

    `ssl`: `True`, or a table with names of the module `ssl`. Raises `SettingError`.
    """
    values: dict[str, Any] = {"connect_timeout_seconds": min(20.0, max(0.001, connect_timeout or 3.0))}
    if ssl:
        values["tls"] = True
    for name, value in ssl.items() if isinstance(ssl, dict) else ():
        short = name.removeprefix("ssl_").removeprefix("ssl")
        if short in SSL_NAMES:
            values[SSL_NAMES[short]] = str(value)
        elif short == "cert_reqs":
            word = str(getattr(value, "name", value)).lower().removeprefix("cert_")
            if word not in SSL_CHECKS:
                raise SettingError(f"ssl[{name!r}] is {value!r}; use {', '.join(SSL_CHECKS)}")
            values["tls_verify"] = SSL_CHECKS[word]
        else:
            known = ", ".join([*SSL_NAMES, "cert_reqs"])
            raise SettingError(f"ssl has {name!r}, which mqframe does not know; it knows {known}")
    try:
        return NetSettings(**values)
    except FixError as wrong:
        raise SettingError(f"the connection's ssl does not fit: {wrong}") from wrong
