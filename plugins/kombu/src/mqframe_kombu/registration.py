"""Makes the scheme `mqframe://` known to kombu.

kombu has a table of transports and no entry points for them. It does load entry points for serializers as
soon as anything that sends or receives is imported, and by then this module has entered the transport.
"""

from __future__ import annotations

from typing import Final

from kombu.transport import TRANSPORT_ALIASES

TRANSPORT: Final = "mqframe_kombu.transport:Transport"
SERIALIZER: Final = (None, None, "application/x-mqframe", "binary")
"""What the entry point has to name: a content type that nothing encodes and nothing decodes."""


def register() -> None:
    """Enter the transport in kombu's table. Twice does no harm."""
    TRANSPORT_ALIASES["mqframe"] = TRANSPORT


register()
