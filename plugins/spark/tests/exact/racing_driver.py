"""A driver that begins a run of the record whenever it is told to, and says whether it came first.

    python racing_driver.py NAME COMMIT_PATH '{"fs.s3a.endpoint": …}'

For each line of standard input it reads the record, says `ready`, waits for another line, and writes the next
version. With the word `alike` drivers write the same, else each its own name into it.
"""

from __future__ import annotations

import json
import sys

import msgspec
from mqframe_spark.exact import rules as rules
from mqframe_spark.exact.place import CommitPlace
from mqframe_spark.exact.rules import Superseded
from mqframe_spark.object_store_options import parse_object_store_options


def main(name: str, root: str, given: str) -> None:
    """Race, until standard input ends."""
    record = CommitPlace(root, "stream", parse_object_store_options(json.loads(given))[0]).record()
    for word in sys.stdin:
        found = record.read()
        begun = rules.first("r") if found is None else rules.begin(found)
        begun = msgspec.structs.replace(begun, spark_query="" if word.strip() == "alike" else name)
        print("ready", flush=True)
        sys.stdin.readline()
        try:
            record.publish(begun)
        except Superseded:
            print("lost", flush=True)
        else:
            print("won", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
