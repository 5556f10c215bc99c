"""Topics of the system that names alone do not tell."""

from __future__ import annotations

from mqframe_admin.rules.internal_topics import internal_topics


def test_brokers_clusters_and_replies_have_topics() -> None:
    assert internal_topics(["broker-a"], ["Default"]) == {"broker-a", "Default", "Default_REPLY_TOPIC"}
