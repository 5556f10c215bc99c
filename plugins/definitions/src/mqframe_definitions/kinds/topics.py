"""`[topics.NAME]`: a topic on all masters."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Final

import msgspec
from mqframe_cli.extension import listed_topics

from mqframe.core.cluster.order_config import TYPE_ATTRIBUTE
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.errors import AnswerError, RouteError
from mqframe_definitions.kind import DefinitionKind

ASKED_AT_ONCE: Final = 8


class TopicSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A topic. `queues` on each broker; `perm`: 4 read, 2 write; `type`: of its messages, `message.type`;
    `attributes`: others."""

    queues: int = 8
    perm: int = 6
    order: bool = False
    type: str = ""
    attributes: dict[str, str] = {}

    def __post_init__(self) -> None:
        if not 1 <= self.queues <= 65_535:
            raise ValueError(f"queues = {self.queues}: must be within 1 and 65535")
        if not 0 <= self.perm <= 7:
            raise ValueError(f"perm = {self.perm}: 4 read, 2 write, 6 both")


class Topics(DefinitionKind[TopicSpec]):
    """Topics. One that has fewer queues to read than to write, or the reverse, is left so unless the file
    says how many."""

    Spec: ClassVar[type[msgspec.Struct]] = TopicSpec
    rank = 10

    def current(self, names: Collection[str] | None) -> Mapping[str, Mapping[str, TopicSpec | None]]:
        """Of each topic what each master has."""
        known = [name for name in listed_topics(self.admin, every=False) if not name.startswith("%")]
        wanted = known if names is None else sorted(set(known).intersection(names))
        masters = self.admin.cluster.masters()
        with ThreadPoolExecutor(ASKED_AT_ONCE) as pool:
            configs = pool.map(self._config, wanted)
        return {
            name: {broker: _spec_of(config[broker]) if broker in config else None for broker in masters}
            for name, config in zip(wanted, configs, strict=True)
            if config
        }

    def _config(self, topic: str) -> dict[str, TopicConfig]:
        try:
            return self.admin.topics.config(topic)
        except (AnswerError, RouteError):
            return {}  # it has just been deleted

    def apply(self, name: str, wanted: TopicSpec, *, new: bool) -> None:
        """Make or change a topic; attributes that the file does not state are left."""
        attributes = dict(wanted.attributes)
        if wanted.type:
            attributes[TYPE_ATTRIBUTE] = wanted.type.upper()
        self.admin.topics.create(
            name, queues=wanted.queues, perm=wanted.perm, order=wanted.order, attributes=attributes
        )

    def delete(self, name: str) -> None:
        """Delete a topic with its messages."""
        self.admin.topics.delete(name)


def _spec_of(config: TopicConfig) -> TopicSpec:
    others = dict(config.attributes)
    kind = others.pop(TYPE_ATTRIBUTE, "")
    return TopicSpec(config.write_queue_nums, config.perm, config.order, kind, others)
