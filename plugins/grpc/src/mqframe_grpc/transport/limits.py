"""What a client may take of a server that speaks gRPC."""

from __future__ import annotations

import attrs


@attrs.frozen
class GrpcLimits:
    """Bounds of the connections of one server.

    `message_bytes_max`: longest message that is read, unpacked; `headers_bytes_max`: longest list of header
    fields, as HTTP/2 counts it; `calls_max`: calls that are open on a connection; `connections_max`: of all
    clients. `partial_bytes_max`: requests that have not wholly arrived, or that nobody has taken;
    `unsent_bytes_max`: answers that were not read; each of all connections together, beyond which those that
    hold much of it the longest are closed. As much as `partial_bytes_max` may also be in work: further
    requests are refused then.
    `resets_max`: calls that a connection may cancel, or open beyond `calls_max`, in a second; `signals_max`:
    frames that carry nothing that it may send in a second, beyond those that go with data. `idle_seconds`: a
    connection without a call, or that does not answer, is closed after so long, and a call ends whose answers
    are not read; `stalled_seconds`: a connection that does not read.
    """

    message_bytes_max: int = 5 << 20
    headers_bytes_max: int = 16 << 10
    calls_max: int = 1000
    connections_max: int = 20_000
    partial_bytes_max: int = 256 << 20
    unsent_bytes_max: int = 512 << 20
    resets_max: int = 1000
    signals_max: int = 1000
    idle_seconds: float = 120.0
    stalled_seconds: float = 30.0
