"""Topics of the system that names alone do not tell."""

from __future__ import annotations

from collections.abc import Iterable

from mqframe.core.messages.names import reply_topic


def internal_topics(brokers: Iterable[str], clusters: Iterable[str]) -> set[str]:
    """Those of brokers and of clusters, whose routes clients ask for, and those of replies."""
    clusters = set(clusters)
    return {*brokers, *clusters, *map(reply_topic, clusters)}
