"""kazoo's locks on one server: kazoo_locks.py ADDRESS FILE

Each thread is a client of its own. While it holds a lock it has a line with
"begin" in FILE, and then one with "end".
"""
import os
import random
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.protocol.states import KazooState

address, path = sys.argv[1:]
out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
failures = []


def connect():
    client = KazooClient(hosts=address, timeout=10)
    client.start(timeout=20)
    return client


def work(lock, kind, rounds):
    for _ in range(rounds):
        if not lock.acquire(timeout=60):
            raise RuntimeError("not acquired: " + kind)
        os.write(out, ("begin %s\n" % kind).encode())
        time.sleep(random.uniform(0, 0.003))
        os.write(out, ("end %s\n" % kind).encode())
        lock.release()


def run(make, kind, rounds=15):
    client = connect()
    try:
        work(make(client), kind, rounds)
    except Exception as e:
        failures.append(repr(e))
    finally:
        client.stop()
        client.close()


def together(*runs):
    threads = [threading.Thread(target=run, args=r) for r in runs]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


together(*[(lambda c: c.Lock("/kazoo/lock"), "lock")] * 3)
write = (lambda c: c.WriteLock("/kazoo/rw"), "write")
read = (lambda c: c.ReadLock("/kazoo/rw"), "read")
# Apart: readers and writers of kazoo 2.8 that meet wait for each other for ever,
# on a real server too.
together(write, write)
together(read, read)
together(*[(lambda c: c.Semaphore("/kazoo/semaphore", max_leases=2), "semaphore")] * 4)

# The session of one that holds is ended from outside: it is told, and the next
# one holds.
holder, waiter = connect(), connect()
lost = threading.Event()
holder.add_listener(lambda s: lost.set() if s == KazooState.LOST else None)
assert holder.Lock("/kazoo/expire").acquire(timeout=30)
print("holding %d" % holder.client_id[0], flush=True)
if not waiter.Lock("/kazoo/expire").acquire(timeout=30):
    failures.append("the next one does not hold")
if not lost.wait(30):
    failures.append("the holder is not told")
for c in (holder, waiter):
    c.stop()
    c.close()
print("failures %s" % failures, flush=True)
sys.exit(1 if failures else 0)
