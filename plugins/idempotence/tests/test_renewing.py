import threading

from mqframe_idempotence.renewing import Renewer


def test_what_is_added_is_called_again_and_again_until_it_is_removed() -> None:
    renewer = Renewer(0.001)
    first, second = object(), object()
    calls: list[str] = []
    enough = threading.Semaphore(0)

    def renew(name: str) -> None:
        calls.append(name)
        enough.release()

    renewer.add(first, lambda: renew("first"))
    for _ in range(3):
        assert enough.acquire(timeout=30)
    assert set(calls) == {"first"}
    renewer.remove(first)
    assert renewer.renewals == 0
    again = threading.Event()
    renewer.add(second, again.set)
    assert again.wait(30)
    renewer.remove(second)
    renewer.remove(second)
    assert renewer.renewals == 0
