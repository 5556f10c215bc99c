"""Options of the door: `[plugins.grpc]`."""

from __future__ import annotations

from typing import Final

from mqframe.core.config.settings import at_least, one_of, setting, settings, within
from mqframe.core.errors import SettingError
from mqframe_grpc.rules.receives import ReceiveLimits
from mqframe_grpc.rules.send_checks import SendLimits
from mqframe_grpc.transport.limits import GrpcLimits

_ENVELOPE_BYTES: Final = 1 << 20
"""What a request may have besides the body of its message."""


@settings("plugins.grpc")
class GrpcOptions:
    """Where the door listens, and what it takes. Times in ms, sizes in bytes."""

    port: int = setting(8081, doc="port for clients of gRPC; 0: any free one", check=within(0, 65535))
    host: str = setting("", doc="address to listen on; empty: that of the broker, of a proxy 127.0.0.1")
    advertised: str = setting(
        "",
        doc="host:port at which clients reach the door, where it is another than the one by which each found "
        "it",
    )
    tls: str = setting(
        "permissive",
        doc="`permissive`: plain connections and TLS at the same port; `enforcing`: TLS only; `disabled`: "
        "plain only",
        check=one_of("permissive", "enforcing", "disabled"),
    )
    tls_cert_file: str = setting(
        "",
        doc="PEM file of the certificate, its chain after it; empty: one is made at the first start, which "
        "Java's, Go's and C#'s clients trust as any other",
    )
    tls_key_file: str = setting("", doc="PEM file of the private key of `tls_cert_file`")
    tls_key_password: str = setting("", doc="what `tls_key_file` is encrypted with", secret=True)
    tls_client_auth: str = setting(
        "none",
        doc="whether clients that use TLS must show a certificate: `none`: they are not asked; `optional`: "
        "one that is shown must be trusted; `require`: without one there is no connection",
        check=one_of("none", "optional", "require"),
    )
    tls_client_ca_file: str = setting(
        "", doc="PEM file of the authorities whose client certificates the door trusts"
    )
    body_bytes_max: int = setting(4 << 20, doc="longest body of a message", check=at_least(1))
    properties_bytes_max: int = setting(
        16 << 10, doc="names, values, tag and keys of a message together", check=at_least(1)
    )
    properties_max: int = setting(128, doc="properties of a message", check=at_least(0))
    message_group_bytes_max: int = setting(
        64, doc="a message group has to be shorter than this", check=at_least(2)
    )
    delay_max_ms: int = setting(
        24 * 3_600_000, doc="how far ahead a message may be delivered", check=at_least(0)
    )
    check_types: bool = setting(True, doc="whether a topic takes messages of its type only")
    batch_max: int = setting(32, doc="most messages of one receive", check=within(1, 1024))
    polling_min_ms: int = setting(5_000, doc="shortest wait of a receive for messages", check=at_least(0))
    polling_max_ms: int = setting(20_000, doc="longest wait of a receive for messages", check=at_least(1))
    invisible_min_ms: int = setting(
        10_000, doc="shortest time that a consumer may hide what it receives", check=at_least(1)
    )
    invisible_max_ms: int = setting(
        12 * 3_600_000, doc="longest time that a consumer may hide what it receives", check=at_least(1)
    )
    renew_ms: int = setting(
        60_000,
        doc="for how long messages of push consumers are hidden, again and again while they work on them: "
        "the time after which these come back when the door was killed",
        check=at_least(20_000),
    )
    renew_max_ms: int = setting(
        3 * 3_600_000, doc="a message that is in work for longer goes to others", check=at_least(1)
    )
    signature_age_ms: int = setting(
        0,
        doc="with access control, how long before or after now a call may have been signed; 0: at any time, "
        "so that whoever has seen one call can make others for ever. Clients in Java and Python sign their "
        "local time as if it were UTC: have them run in UTC before you set this, to 900000 (15 min) perhaps",
        check=at_least(0),
    )
    connections_max: int = setting(20_000, doc="connections at once", check=at_least(1))

    def __attrs_post_init__(self) -> None:
        if self.tls_client_auth != "none" and not self.tls_client_ca_file:
            raise SettingError(
                f"plugins.grpc.tls_client_auth = {self.tls_client_auth!r} needs "
                "plugins.grpc.tls_client_ca_file: whose certificates are trusted?"
            )

    @property
    def sends(self) -> SendLimits:
        """What may be sent."""
        return SendLimits(
            body_bytes_max=self.body_bytes_max,
            properties_bytes_max=self.properties_bytes_max,
            properties_max=self.properties_max,
            group_bytes_max=self.message_group_bytes_max,
            delay_max_ms=self.delay_max_ms,
        )

    @property
    def receives(self) -> ReceiveLimits:
        """What may be received."""
        return ReceiveLimits(
            invisible_min_ms=self.invisible_min_ms,
            invisible_max_ms=self.invisible_max_ms,
            polling_min_ms=self.polling_min_ms,
            polling_max_ms=self.polling_max_ms,
            batch_max=self.batch_max,
            renew_ms=self.renew_ms,
        )

    @property
    def connections(self) -> GrpcLimits:
        """What connections may take."""
        return GrpcLimits(
            message_bytes_max=self.body_bytes_max + _ENVELOPE_BYTES, connections_max=self.connections_max
        )
