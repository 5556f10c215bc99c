"""Needs of requests of operators that name their topics and groups in the body: the few fields that count."""

from __future__ import annotations

from typing import Final

from mqframe.core.requests.needs import Action, group_need, of_body, topic_need
from mqframe.core.wire.bodies import Body

_CREATE: Final = (Action.CREATE,)


class _Topic(Body):
    topic_name: str


class _Topics(Body):
    topic_config_list: list[_Topic] = []


class _Group(Body):
    group_name: str


class _Groups(Body):
    group_config_list: list[_Group] = []


TOPICS: Final = of_body(
    _Topics,
    lambda body: [topic_need(each.topic_name, _CREATE) for each in body.topic_config_list],
    changes=True,
)
GROUP: Final = of_body(_Group, lambda body: [group_need(body.group_name, _CREATE)], changes=True)
GROUPS: Final = of_body(
    _Groups,
    lambda body: [group_need(each.group_name, _CREATE) for each in body.group_config_list],
    changes=True,
)
