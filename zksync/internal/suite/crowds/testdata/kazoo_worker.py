"""kazoo's locks among those of others: kazoo_worker.py FILE

Does what the lines on its input say, and ends with it.

While a client holds a lock there is a line with "begin" in FILE, and then one
with "end": the kind, who, and nanoseconds of the clock.
"""
import os
import random
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import ReadLock

out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
stop = threading.Event()
hang = threading.Semaphore(0)
held = [0]
threads = []


def note(verb, kind, who):
    os.write(out, ("%s %s %s %d\n" % (verb, kind, who, time.time_ns())).encode())


def rest(seconds):
    time.sleep(random.uniform(0, seconds))


def hold(kind, who):
    """Holds the lock a while, or until the process is killed."""
    note("begin", kind, who)
    if hang.acquire(blocking=False):
        print("hangs " + who, flush=True)
        time.sleep(3600)
    rest(0.004)
    note("end", kind, who)
    held[0] += 1


def acquire(lock):
    """False if it gave up."""
    # A reader of kazoo 2.8 waits for the writers behind it too, and they for it.
    # So it goes to the back after a while.
    if isinstance(lock, ReadLock):
        patience = 0.1
    elif random.randrange(4) == 0:
        patience = random.uniform(0.001, 0.05)
    else:
        return lock.acquire()
    try:
        return lock.acquire(timeout=patience)
    except LockTimeout:
        return False


def work(client, path, kind, heed, who):
    while not stop.is_set():
        if kind != "rw":
            lock, name = client.Lock(path, extra_lock_patterns=heed), "write"
        elif random.randrange(3) == 0:
            # kazoo's writers heed readers and writers, its readers writers.
            lock, name = client.WriteLock(path, extra_lock_patterns=heed), "write"
        else:
            heeded = [h for h in heed if h != "__READ__"]
            lock, name = client.ReadLock(path, extra_lock_patterns=heeded), "read"
        if acquire(lock):
            hold(name, who)
            lock.release()
        rest(0.003 if kind != "rw" else 0.02)


def crowd(address, path, kind, who, timeout, clients, *heed):
    """Some clients work with a lock until the word "stop"."""

    def thread(client, name):
        try:
            work(client, path, kind, heed, name)
            client.stop()
            client.close()
        except Exception as e:
            failed(name, e)

    for i in range(int(clients)):
        client = KazooClient(hosts=address, timeout=float(timeout) / 1000)
        client.start(timeout=30)
        threads.append(threading.Thread(target=thread, args=(client, "%s.%d" % (who, i)), daemon=True))
    for t in threads:
        t.start()
    print("works", flush=True)


def end():
    stop.set()
    for t in threads:
        t.join()
    print("done %d" % held[0], flush=True)


def failed(what, e):
    traceback.print_exc()
    print("failed %s: %r" % (what, e), flush=True)


commands = {"crowd": crowd, "hang": hang.release, "stop": end}
for line in sys.stdin:
    words = line.split()
    try:
        commands[words[0]](*words[1:])
    except Exception as e:
        failed(line.strip(), e)
os._exit(0)
