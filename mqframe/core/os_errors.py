"""What the operating system refused, in words, with what to do about it."""

from __future__ import annotations

import errno
from typing import Final

_ADVICE: Final = {
    errno.ENOSPC: "free some disk space",
    errno.EDQUOT: "the quota of this user is used up: free some space or raise the quota",
    errno.EMFILE: "this process has as many files open as it may: raise its limit (ulimit -n, LimitNOFILE=)",
    errno.ENFILE: "the machine has as many files open as it may: raise fs.file-max or close some",
    errno.EROFS: "the file system is read-only: look into the system's log for why, and mount it writable",
    errno.EACCES: "this user may not do that: check who owns the folder and its permissions",
    errno.EPERM: "this user may not do that: check owner, permissions and attributes of the folder",
    errno.EIO: "the disk fails: look into the system's log, and replace it",
    errno.ENOMEM: "there is no memory left: free some, or raise vm.max_map_count where maps ran out",
    errno.EFBIG: "the file is larger than the file system or ulimit -f allows: raise the limit",
    errno.EADDRINUSE: "another process listens there: stop it, or choose another port",
}


def told(problem: OSError) -> str:
    """What happened and what to do, as the end of a sentence: "Too many open files; this process has …"."""
    said = problem.strerror or str(problem) or type(problem).__name__
    advice = _ADVICE.get(problem.errno or 0)
    where = f" ({problem.filename})" if isinstance(problem.filename, str) else ""
    return f"{said}{where}" if advice is None else f"{said}{where}; {advice}"
