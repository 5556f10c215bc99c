import subprocess
import sys

TESTS = """
def test_one(mqframe_cluster):
    mqframe_cluster.create_topic("orders")
    assert mqframe_cluster.nameserver.startswith("127.0.0.1:")

def test_two(mqframe_shared_cluster, mqframe_cluster_factory):
    other = mqframe_cluster_factory(brokers=2)
    assert len(other.cluster.brokers) == 2
    assert other.nameserver != mqframe_shared_cluster.nameserver
"""


def test_the_plugin_gives_clusters_to_tests(tmp_path):
    (tmp_path / "test_mine.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        ".",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False)
    assert "2 passed" in done.stdout, done.stdout
