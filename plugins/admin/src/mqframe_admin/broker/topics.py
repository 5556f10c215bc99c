"""Administration of topics: several at once, delete, the system's own (source: AdminBrokerProcessor.java)."""

from __future__ import annotations

from typing import Final

from mqframe.core.cluster.route_bodies import TopicList
from mqframe.core.codes import ResponseCode
from mqframe.core.errors import Refusal
from mqframe.core.messages.names import is_path_part
from mqframe.core.requests.lasting import not_saved, unaware_remark
from mqframe.core.requests.serving import Call, Reply, serves
from mqframe.core.wire.loose_json import dumps
from mqframe.turns import in_turns
from mqframe_admin.bodies import TopicConfigList
from mqframe_admin.broker.processor import AdminProcessor
from mqframe_admin.requests import DeleteTopicInBroker, GetSystemTopicListFromBroker, UpdateAndCreateTopicList

LIST_MAX: Final = 5000
"""Topics in one request: all that are new are written down together."""
TURN_TOPICS: Final = 256
"""Topics that are made or changed in one turn of the loop."""


class AdminTopicProcessor(AdminProcessor):
    """Makes and changes many topics at once, deletes one, shows those of the broker itself."""

    @serves(UpdateAndCreateTopicList)
    async def put_topics(self, fields: UpdateAndCreateTopicList, call: Call) -> Reply:
        topics = call.body(TopicConfigList).topic_config_list
        if len(topics) > LIST_MAX:
            raise Refusal(
                ResponseCode.INVALID_PARAMETER,
                f"{len(topics)} topics at once, at most {LIST_MAX} are taken; send them in parts",
            )
        async for some in in_turns(topics, TURN_TOPICS):
            for topic in some:
                self._administration.check_topic(topic)
                self._topics.check(topic)
        names = {str(topic.topic_name) for topic in topics}
        self._topics.admit(sum(name not in self._topics for name in names))
        async for some in in_turns(topics, TURN_TOPICS):
            for topic in some:
                self._topics.put(topic)
        if not await self._save():
            raise not_saved()
        return Reply(remark=unaware_remark(await self._administration.announced()))

    @serves(DeleteTopicInBroker)
    async def delete_topic(self, fields: DeleteTopicInBroker, call: Call) -> Reply:
        name = fields.topic
        if not name.strip():
            raise Refusal(ResponseCode.INVALID_PARAMETER, "topic name is empty")
        if not is_path_part(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic name {name[:40]!r} is none")
        if self._topics.is_system(name):
            raise Refusal(ResponseCode.INVALID_PARAMETER, f"topic {name} is the system's own")
        try:
            await self._administration.delete_topic(name)
        except OSError:
            raise not_saved() from None
        if not await self._save():
            raise not_saved()
        return Reply()

    @serves(GetSystemTopicListFromBroker)
    def system_topics(self, fields: GetSystemTopicListFromBroker, call: Call) -> Reply:
        return Reply(
            body=dumps(TopicList(broker_addr=self._identity.address, topic_list=self._topics.system_topics))
        )
