"""What is told, and how spans hang together."""

from __future__ import annotations

from mqframe.core.config.settings import setting, settings


@settings("plugins.opentelemetry")
class TelemetryOptions:
    """Options of both hooks."""

    tag: bool = setting(True, doc="whether spans have the tag of a message")
    keys: bool = setting(True, doc="whether spans have the keys of a message, which name business objects")
    body_size: bool = setting(False, doc="whether spans have the size of a body, bytes")
    create_spans: bool = setting(
        True, doc="whether each message of a batch has a span of its own, which the span of the send links to"
    )
    children: bool = setting(
        True,
        doc="whether the span of processing one message is a child of its sender's, so that both are in one"
        " trace; it has a link to it in any case, and is a child of the current span where there is one",
    )
    metrics: bool = setting(True, doc="whether metrics are recorded")
    namespace: str = setting(
        "", doc="the namespace of the topics; of a topic named NAMESPACE%NAME it is known"
    )
