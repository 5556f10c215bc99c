import pytest

from mqframe.core.consuming.group_config import SubscriptionGroupConfig, retry_queues


@pytest.mark.parametrize(("stored", "counts"), [(10**12, 65_535), (-3, 0), (0, 0), (2, 2)])
def test_an_impossible_number_of_retry_queues_is_not_believed(stored, counts):
    assert retry_queues(SubscriptionGroupConfig(group_name="g", retry_queue_nums=stored)) == counts
