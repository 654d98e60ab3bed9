package demo

// Help describes the demo for its users, in lines of at most 80 columns.
const Help = `Show a lock at work: for about ten seconds, a few processes share one lock on a
ZooKeeper that runs inside the demo. The demo needs no installation, uses only
this machine, and leaves nothing behind.

Each worker is a separate process. In a loop it waits for the lock, makes a few
writes to a store, and gives the lock back. Meanwhile the demo

  - kills one worker with kill -9 while it holds the lock. The session lives on
    for the session timeout, 1.5s here. Then the next in line gets the lock;
  - cuts one worker off from the network while it holds the lock. After half the
    session timeout the worker knows, by its own clock, that the lock is lost,
    and stops its work. After the whole timeout the next in line gets the lock.
    When the network is back, a write of the first worker arrives late. The
    store refuses it: its fence, a number that grows from hold to hold, is
    smaller than the largest that the store has seen.

In a terminal the demo draws a row for each worker as events happen:

  #12#   holds the lock, with fence 12 (a block where there are colours)
  ...    waits for the lock
  ~~~    is cut off
  X      was killed by kill -9
  !      has lost the lock, and knows it

Elsewhere the demo prints a line for each event, with the seconds since the
start, and the picture at the end. NO_COLOR turns the colours off.

All workers report to the demo through one pipe, which keeps the order of their
reports. By this order no hold may begin before the one before it has ended. A
hold lasts from the first moment after the grant to the release, or to the end
of the hold's context or of the process if that came first.

Exit codes:
  0            no two holds overlapped, and each fence was larger than the last
  1            two holds overlapped, a fence did not grow, or time ran out
  64           the command line is invalid
  69           the lock can't be served
  71           the system can't start a process, or the output can't be written
  128+N        signal N ended the demo`
