"""The commands together."""

import subprocess
import sys


def test_help_is_there_at_once_and_other_commands_pay_nothing() -> None:
    program = (
        "import sys\n"
        "from mqframe_cli import main\n"
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
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    for name in ("run", "drain", "replay", "republish-dlq", "report", "search"):
        assert f"mqframe spark {name}" in done.stdout
