package demo

// Help describes the demo for its users, in lines of at most 80 columns.
const Help = `Show a lock at work: a few processes share one lock on a ZooKeeper that runs
inside the demo, for about ten seconds. Nothing has to be installed, nothing
outside this machine is used, and nothing is left behind.

Each worker is a process of its own, in a loop: it waits for the lock, makes a
few writes to a store, and gives the lock back. Meanwhile the demo

  - kills one with kill -9 while it holds the lock. Its session lives on for the
    session timeout, 1.5s here; then the next in line has the lock;
  - cuts one off while it holds the lock: nothing gets to it or comes from it.
    It knows by its own clock, after half the session timeout, that the lock is
    lost, and stops its work; after the whole timeout the next has the lock.
    When the network is back, a write of the first one arrives late. Its fence,
    a number that grows from hold to hold, is smaller than what the store has
    seen: refused.

In a terminal there is a row for each worker, drawn as it happens:

  #12#   holds the lock, with fence 12 (a block where there are colours)
  ...    waits for it
  ~~~    is cut off
  X      killed by kill -9
  !      has lost the lock, and knows

Elsewhere each event is a line, with the seconds since the start, and the
picture comes at the end. NO_COLOR turns the colours off.

At the end the demo compares the holds as the workers have seen them, by the
clock of the machine: from the first moment after the grant to the release, or
to the end of the hold's context if that came first.

Exit codes:
  0            no two holds overlapped, and each fence was larger than the last
  1            that was not so, or there was no time to show everything
  64           a command line that makes no sense
  69           the lock can't be served
  71           the system can't start a process, or the output can't be written
  128+N        signal N ended the demo`
