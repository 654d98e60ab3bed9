"""kazoo's locks on one server: kazoo_locks.py ADDRESS FILE

Does what the lines on its input say, and answers each: "ok" and the line, or
"failed", the line and why. It ends with its input.

While a client holds a lock there is a line with "begin" in FILE, and then one
with "end". Every thread is a client of its own, and there may be other
processes.
"""
import os
import queue
import random
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.protocol.states import KazooState
from kazoo.recipe.lock import ReadLock

address, path = sys.argv[1:]
out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


class Client:
    """A client for a with statement."""

    def __enter__(self):
        self.client = KazooClient(hosts=address, timeout=10)
        self.client.start(timeout=20)
        return self.client

    def __exit__(self, *_):
        self.client.stop()
        self.client.close()


def check(ok, what):
    if not ok:
        raise RuntimeError(what)


def acquire(lock):
    # A reader of kazoo 2.8 waits for the writers behind it too, and they for it:
    # on a real server as well. So it goes to the back after a while.
    patience = 0.1 if isinstance(lock, ReadLock) else 60
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if lock.acquire(timeout=patience):
                return
        except LockTimeout:
            pass
    raise RuntimeError("not acquired: " + lock.path)


def refused(lock):
    return not lock.acquire(blocking=False)


def work(make, kind, errors):
    try:
        with Client() as client:
            lock = make(client)
            for _ in range(10):
                acquire(lock)
                os.write(out, ("begin %s\n" % kind).encode())
                time.sleep(random.uniform(0, 0.003))
                os.write(out, ("end %s\n" % kind).encode())
                lock.release()
    except Exception as e:
        errors.append(repr(e))


def together(*works):
    errors = []
    threads = [threading.Thread(target=work, args=w + (errors,)) for w in works]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(not errors, errors)


def crowd():
    """Some clients work with the locks that those of other processes do."""
    together(*[(lambda c: c.Lock("/kazoo/lock"), "lock")] * 2)
    together((lambda c: c.WriteLock("/kazoo/rw"), "write"), (lambda c: c.ReadLock("/kazoo/rw"), "read"))
    together(*[(lambda c: c.Semaphore("/kazoo/semaphore", max_leases=2), "semaphore")] * 2)


def rules():
    """Who is let in beside whom, one step after the other."""
    with Client() as a, Client() as b, Client() as c:
        one, two = a.Lock("/kazoo/rules/lock"), b.Lock("/kazoo/rules/lock")
        acquire(one)
        check(refused(two), "a second lock")
        check(refused(one), "it re-enters")
        one.release()
        acquire(two)
        two.release()

        r1, r2, w = a.ReadLock("/kazoo/rules/rw"), b.ReadLock("/kazoo/rules/rw"), c.WriteLock("/kazoo/rules/rw")
        acquire(r1)
        acquire(r2)
        check(refused(w), "a writer beside readers")
        r1.release()
        check(refused(w), "a writer beside a reader")
        r2.release()
        acquire(w)
        check(refused(r1), "a reader beside a writer")
        w.release()
        acquire(r1)
        r1.release()

        s = [k.Semaphore("/kazoo/rules/semaphore", max_leases=2) for k in (a, b, c)]
        acquire(s[0])
        acquire(s[1])
        check(refused(s[2]), "a third permit of two")
        s[0].release()
        acquire(s[2])
        s[1].release()
        s[2].release()


def hold():
    """Holds a lock until the session is over, and is told of that."""
    with Client() as client:
        lost = threading.Event()
        client.add_listener(lambda s: lost.set() if s == KazooState.LOST else None)
        acquire(client.Lock("/kazoo/expire", "clerk-7"))
        print("holding %d" % client.client_id[0], flush=True)
        check(lost.wait(30), "the end of the session is not told")


def next():
    """Waits for the lock that another process holds."""
    with Client() as client:
        check(client.Lock("/kazoo/expire").acquire(timeout=60), "not acquired")


lines = queue.Queue()


def read():
    for line in sys.stdin:
        lines.put(line.strip())
    os._exit(0)


threading.Thread(target=read, daemon=True).start()
print("ready", flush=True)
commands = {f.__name__: f for f in (crowd, rules, hold, next)}
while True:
    command = lines.get()
    try:
        commands[command]()
        print("ok " + command, flush=True)
    except Exception as e:
        print("failed %s: %r" % (command, e), flush=True)
