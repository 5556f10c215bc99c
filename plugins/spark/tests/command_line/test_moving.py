"""`mqframe spark drain`, `replay` and `republish-dlq`, as far as they go without Spark."""

import json
from typing import Any

import pytest
from mqframe_admin.rules.dead_letters import ResendTo
from mqframe_spark.jobs.dead_letters import Republish, Republished
from mqframe_spark.jobs.draining import Drain
from mqframe_spark.jobs.replaying import Replay
from mqframe_spark.jobs.watching import StopRequest, Totals

from mqframe import Admin, MessageQueue, Puller
from mqframe.core.errors import FixError

SOURCE = {"nameserver": "127.0.0.1:1", "accessKey": "a", "secretKey": "s"}
MEANT = ["--from", "2026-01-01T00:00Z", "--to", "2026-01-02T00:00Z"]


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
        (["republish-dlq", "a b"], "a b"),
        (["republish-dlq", "g", "--to", "nobody"], "--to nobody: must be group or topic"),
        (["republish-dlq", "g", "--to", "topic", "--into", "u"], "--to topic and --into contradict"),
        (["republish-dlq", "g", "--commit-path", "/c"], "--commit-path: is for copies to topics"),
    ],
)
def test_jobs_refuse_before_they_start(command, words, said) -> None:
    problem = command.refused(*words, "--nameserver", command.nobody)
    assert isinstance(problem, FixError)
    assert said in str(problem)


def test_jobs_refuse_what_the_cluster_does_not_have(command, cluster) -> None:
    topic = "test_jobs_refuse_what_the_cluster_does_not_have"
    for words, said in (
        (["drain", topic, "--into", "not-there"], "let --queues say with how many queues it is to be made"),
        (["drain", topic, "--into", "not-there", "--queues", "4", "--group", "nogroup"],
         "--group nogroup: there is no such consumer group"),
        (["drain", "nowhere", "--into", topic, "--dry-run"], "option topic = 'nowhere'"),
        (["replay", topic, "--into", "not-there", *MEANT], "let --queues say"),
        (["republish-dlq", "nogroup"], "group nogroup has no dead letters: there is no topic %DLQ%nogroup"),
    ):  # fmt: skip
        problem = command.refused(*words, "--nameserver", cluster.nameserver)
        assert isinstance(problem, FixError)
        assert said in str(problem), words


def test_a_dry_drain_shows_what_would_be_moved_and_changes_nothing(command, cluster) -> None:
    topic = "test_a_dry_drain_shows_what_would_be_moved_and_changes_nothing"
    with Admin(nameserver=cluster.nameserver) as admin:
        admin.groups.create("dry")
    with Puller("dry", nameserver=cluster.nameserver) as puller:
        puller.commit(MessageQueue(topic, "broker-a", 0), 3)
        puller.commit(MessageQueue(topic, "broker-a", 1), 2)
    given = ["--into", "dry-target", "--queues", "8", "--nameserver", cluster.nameserver, "--dry-run"]
    result = command.done("drain", topic, "--group", "dry", *given, "--json")
    assert json.loads(result.stdout) == [
        {"topic": topic, "broker": "broker-a", "queue": 0, "from": 3, "to": 4, "messages": 1}
    ]
    assert result.stderr == "mqframe: topic dry-target would be made\nmqframe: 1 messages would be read\n"
    with Admin(nameserver=cluster.nameserver) as admin:
        assert "dry-target" not in admin.topics.list()
    start = json.dumps({topic: {"broker-a/1": 1}})
    result = command.done("drain", topic, "--from", start, *given, "--json")
    assert [(row["queue"], row["from"], row["to"]) for row in json.loads(result.stdout)] == [
        (0, 0, 4),
        (1, 1, 2),
    ]


def test_a_dry_replay_counts_what_was_stored_in_between(command, cluster) -> None:
    topic = "test_a_dry_replay_counts_what_was_stored_in_between"
    given = ["--into", "dry-replayed", "--queues", "2", "--nameserver", cluster.nameserver, "--dry-run"]
    result = command.done(
        "replay", topic, *given, "--from", "2020-01-01T00:00Z", "--to", "2100-01-01T00:00Z", "--json"
    )
    assert [(row["queue"], row["from"], row["to"]) for row in json.loads(result.stdout)] == [
        (0, 0, 4),
        (1, 0, 2),
    ]
    result = command.done("replay", topic, *given, *MEANT)
    assert result.stdout == "no messages there\n"
    assert result.stderr.endswith("0 messages would be read\n")


@pytest.fixture
def brokers(command) -> list[str]:
    """Words for brokers that nobody asks, since the jobs are replaced."""
    return ["--nameserver", command.nobody, "--option", "accessKey=a", "--option", "secretKey=s"]


def test_a_drain_is_what_was_typed(command, sessions, job, brokers, tmp_path) -> None:
    checked = job("draining.check_drain", False)
    moved = job("draining.drain", Totals(batches=1, rows=3, seconds=2.0, backlog=0))
    result = command.done("drain", "t", "--into", "u", *brokers, "--json")
    plain = checked[0][0]
    assert plain == Drain(
        source=SOURCE, topic="t", into="u",
        checkpoint=plain.checkpoint, starting="earliest",
    )  # fmt: skip
    assert plain.checkpoint.startswith(f"{tmp_path}/state/mqframe/spark/drain-t-")
    [(spark, carried_out, more)] = moved
    assert (spark, carried_out) == (sessions, plain)
    assert isinstance(more["stop"], StopRequest)
    assert (sessions.opened[0].name, sessions.stopped) == ("drain t", 1)
    shown = json.loads(result.stdout)
    assert (shown["rows"], shown["checkpoint"]) == (3, plain.checkpoint)
    assert result.stderr == f"mqframe: checkpoint {plain.checkpoint}\n"

    words = ["--group", "g", "--keep-offsets", "--queues", "8", "--sharding-key", "tags", "--at-least-once"]
    command.done(
        "drain",
        "t",
        "--into",
        "u",
        *brokers,
        *words,
        "--rows-at-once",
        "5",
        "--checkpoint",
        "/cp",
    )
    assert moved[-1][1] == Drain(
        source=SOURCE, topic="t", into="u", checkpoint="/cp",
        group="g", keep_offsets=True, queues=8, sharding_key="tags", exactly_once=False, rows_at_once=5,
    )  # fmt: skip


def test_another_beginning_is_another_drain_with_progress_of_its_own(command, sessions, job, brokers) -> None:
    checked = job("draining.check_drain", False)
    job("draining.drain", Totals())
    for words in ([], ["--queues", "8"], ["--from", "latest"], ["--group", "g"]):
        command.done("drain", "t", "--into", "u", *brokers, *words)
    first, same, *others = (call[0].checkpoint for call in checked)
    assert first == same
    assert len({first, *others}) == 3


def test_a_replay_is_what_was_typed(command, sessions, job, brokers, tmp_path) -> None:
    job("replaying.check_replay", False)
    copied = job("replaying.replay", Totals(rows=3))
    words = ["--queues", "8", "--sharding-key", "tags", "--at-least-once", "--rows-at-once", "5"]
    command.done("replay", "t", "--into", "u", *MEANT, *brokers, *words)
    found = copied[0][1]
    assert found == Replay(
        source=SOURCE, topic="t", into="u", begin=MEANT[1],
        end=MEANT[3], checkpoint=found.checkpoint, queues=8, sharding_key="tags", exactly_once=False,
        rows_at_once=5,
    )  # fmt: skip
    assert found.checkpoint.startswith(f"{tmp_path}/state/mqframe/spark/replay-t-")
    assert sessions.opened[0].name == "replay t"


@pytest.fixture
def republish(command, sessions, job, brokers) -> Any:
    """Runs `republish-dlq g`; gives the job, whether it was a dry run, and the command's result."""
    job("dead_letters.open_letters", ["broker-a", "broker-b"])
    calls = job("dead_letters.republish_dead_letters", Republished(9, 4, 1, {"t": 2, "u": 1}))

    def run(*words: str) -> tuple[Republish, bool, Any]:
        result = command.done("republish-dlq", "g", *brokers, "--json", *words)
        spark, options, named = calls.pop()
        assert spark is sessions
        return options, named["dry_run"], result

    return run


def test_dead_letters_are_sent_once_and_counted(republish, tmp_path) -> None:
    options, dry, result = republish("--where", "tags = 'a'", "--into", "all", "--again")
    assert not dry
    assert options == Republish(
        source=SOURCE, group="g", where="tags = 'a'", into="all", again=True, commit_path=options.commit_path
    )
    assert options.commit_path.startswith(f"{tmp_path}/state/mqframe/spark/republish-g-")
    again = republish("--into", "all")[0]
    assert options.commit_path == again.commit_path, "a second run would not know the first"
    assert result.stderr == "mqframe: made %DLQ%g readable on broker-a, broker-b\n"
    assert json.loads(result.stdout) == {
        "dead_letters": 9, "chosen": 4, "sent_before": 1, "sent": 3, "topics": {"t": 2, "u": 1},
    }  # fmt: skip


def test_dead_letters_go_to_the_group_alone_unless_topics_are_asked_for(republish, tmp_path) -> None:
    options, dry, result = republish()
    assert (options, dry) == (Republish(source=SOURCE, group="g"), False)
    assert "all groups" not in result.stderr
    options, dry, result = republish("--to", "topic")
    assert (options.to, options.into) == (ResendTo.TOPIC, "")
    assert options.commit_path.startswith(f"{tmp_path}/state/mqframe/spark/republish-g-")
    assert "all groups that subscribe the original topics get the copies, not g alone" in result.stderr


def test_a_dry_run_says_what_it_would_send_and_needs_no_record(republish) -> None:
    options, dry, result = republish("--dry-run", "--to", "topic")
    assert (dry, options.commit_path) == (True, "")
    assert json.loads(result.stdout) == {
        "dead_letters": 9, "chosen": 4, "sent_before": 1, "would_send": 3, "topics": {"t": 2, "u": 1},
    }  # fmt: skip
    assert republish("--to", "topic", "--at-least-once")[0].commit_path == ""
    assert republish("--to", "topic", "--commit-path", "/c")[0].commit_path == "/c"
