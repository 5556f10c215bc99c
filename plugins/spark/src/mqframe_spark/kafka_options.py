"""Options of Spark's Kafka connector, and what to write here instead of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

INSTEAD: Final[Mapping[str, str]] = {
    "subscribe": "write topic, or topics with commas between",
    "subscribepattern": "write topicPattern",
    "startingoffsetsbytimestamp": 'write startingTimestamp = {"topic": {"broker/queue": time}}',
    "endingoffsetsbytimestamp": 'write endingTimestamp = {"topic": {"broker/queue": time}}',
    "startingoffsetsbytimestampstrategy": "leave it out: where no message is as new, the end counts",
    "groupidprefix": "write group; nothing is committed for it",
    "includeheaders": "leave it out: the column properties is always there",
    "fetchoffset.numretries": "write retries",
    "fetchoffset.retryintervalms": "write retryIntervalMs",
    "kafkaconsumer.polltimeoutms": "leave it out: brokers answer at once here",
    "kafka.bootstrap.servers": "write nameserver, with the addresses of name servers",
    "kafka.group.id": "write group; nothing is committed for it; see commitToGroup",
    "kafka.security.protocol": "write tls = 'true', or accessKey and secretKey",
    "kafka.isolation.level": "leave it out: messages of a transaction are seen once it is committed",
    "kafka.compression.type": "write compressOverBytes, when writing",
    "kafka.acks": "leave it out: every row is confirmed by its broker",
    "kafka.batch.size": "write batchBytes, when writing",
    "kafka.max.request.size": "write batchBytes, when writing",
    "kafka.max.in.flight.requests.per.connection": "write inFlightRequests, when writing",
    "kafka.enable.idempotence": "write idempotenceKeys or exactlyOnce, when writing",
    "kafka.transactional.id": "write exactlyOnce, when writing",
    "kafka.retries": "write retries, when reading",
    "kafka.auto.offset.reset": "write startingOffsets",
    "kafka.enable.auto.commit": "write commitToGroup, for tools that show the progress of a group",
    "kafka.partitioner.class": "leave it out: the column sharding_key chooses the queue, as in Java",
}
"""By name in lower case."""
_FAMILIES: Final = (
    ("kafka.ssl.", "write tls, tlsCaFile, tlsCertFile and tlsKeyFile, which are PEM files"),
    ("kafka.sasl.", "write accessKey and secretKey"),
    ("kafka.", "leave it out: it is a setting of Kafka's clients, and has no counterpart here"),
)


def instead(name: str) -> str:
    """What to do about the option `name` of Kafka's connector; "" for a name that is none of its."""
    name = name.lower()
    return INSTEAD.get(name) or next((told for start, told in _FAMILIES if name.startswith(start)), "")


_COLUMNS: Final = {
    "key": "did you mean keys, by which people look for messages, or sharding_key, which chooses the queue?",
    "headers": "did you mean properties, a map of texts?",
    "partition": "did you mean sharding_key? It chooses the queue.",
}


def instead_of_column(name: str) -> str:
    """What to write instead of a column of Kafka's connector; "" when there is nothing to say."""
    return _COLUMNS.get(name.lower(), "")
