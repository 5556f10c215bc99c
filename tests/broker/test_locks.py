from mqframe.core.bodies import LockAnswerBody, LockBody, QueueBody
from mqframe.core.loosejson import decode, dumps
from mqframe.core.requests.consumers import LockBatchMq, UnlockBatchMq

QUEUES = [QueueBody(broker_name="broker-a", queue_id=number, topic="t") for number in (0, 1)]


async def lock(world, client_id, queues=QUEUES):
    body = dumps(LockBody(client_id=client_id, consumer_group="g", mq_set=list(queues)))
    answer = await world.talker.ok(LockBatchMq(), body)
    return [queue.queue_id for queue in decode(answer.body, LockAnswerBody).lock_ok_mq_set]


def test_a_queue_is_locked_for_one_client_for_a_minute(run):
    async def scenario(world):
        assert await lock(world, "one", QUEUES[:1]) == [0]
        assert await lock(world, "two") == [1]
        await world.clock.aadvance(59)
        assert await lock(world, "two", QUEUES[:1]) == []
        await world.clock.aadvance(2)
        assert await lock(world, "two", QUEUES[:1]) == [0]

    run(scenario)


def test_a_lock_can_be_given_back(run):
    async def scenario(world):
        assert await lock(world, "one") == [0, 1]
        body = dumps(LockBody(client_id="one", consumer_group="g", mq_set=QUEUES[1:]))
        await world.talker.ok(UnlockBatchMq(), body)
        assert await lock(world, "two") == [1]

    run(scenario)
