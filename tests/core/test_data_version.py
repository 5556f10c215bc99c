from mqframe.core.bodies import DataVersion
from mqframe.core.data_version import next_version


def test_the_next_version_counts_on_and_says_when():
    assert next_version(DataVersion(4, 2, 100), 200) == DataVersion(5, 2, 200)
