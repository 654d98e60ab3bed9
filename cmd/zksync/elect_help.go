package main

const electLong = `Run COMMAND on one of several machines, and on another one when that fails.

NAME is a path in ZooKeeper, such as /leaders/scheduler. Of all processes that
name the same path, on any machine, one leads and runs its COMMAND. The others
wait in the order in which they came, and print on stderr who leads. When the
leader ends, dies, or is cut off from ZooKeeper, the next one leads.

A leadership is lost if the session expires, if ZooKeeper is out of reach for
half the session timeout, or if somebody deletes the leader's node. It can also
be asked back, with the request that Curator and this library know. In all of
these cases COMMAND's process group gets SIGTERM and, after --grace, SIGKILL.
Then zksync stands for the election again, at the end of the line, and runs
COMMAND anew when it leads. If COMMAND ends by itself, zksync resigns, and exits
with COMMAND's exit code: let what has started zksync decide whether to start it
again.

While COMMAND runs, zksync passes signals on to it, as "zksync run" does. INT,
QUIT and TERM also tell zksync to end when COMMAND has ended, whatever the
reason. During the wait these and HUP end zksync, a second one at once.

A program that was stopped, or cut off from everything, notices the loss late, and
the next leader may work already. So protect what matters with ZKSYNC_FENCE, a
number that grows from leader to leader: refuse a write that comes with a smaller
number than an earlier one. "zksync run --help" says more about losses, kill -9,
and the environment: COMMAND has the variables ZKSYNC_LOCK (NAME), ZKSYNC_NODE,
ZKSYNC_FENCE and ZKSYNC_SESSION, and zksync reads ` + envServers + ` and ` + envAuth + `.

With --trace zksync prints the wait, the leadership and its end as OpenTelemetry spans
on stderr, once for each time that COMMAND runs, and exports them, as "zksync run
--help" says. A leadership that is lost is a span with an error. COMMAND's parent is
the span of the leadership.

An election is a lock: "zksync run NAME" waits for the leader to end, and Curator's
LeaderSelector stands in the same line.

Exit codes:
  of COMMAND   it ran and ended by itself, or after a signal
  64           the command line or NAME is invalid
  69           ZooKeeper can't be reached, or refuses to serve the election
  71           the system can't start a process
  77           ZooKeeper refuses permission
  79           the leadership was lost as COMMAND ended, and zksync does not stand
               again (see --lost-exit-code)
  126          COMMAND was found but can't be run
  127          COMMAND was not found
  128+N        signal N ended COMMAND, or the wait`

const electExample = `  zksync elect --servers zk1:2181,zk2:2181,zk3:2181 /leaders/scheduler -- ./scheduler
  zksync elect -q --grace 30 /leaders/worker ./worker --verbose   # the flag is the worker's`
