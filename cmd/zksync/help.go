package main

const runLong = `Run COMMAND while holding the lock LOCK, and exit with COMMAND's exit code.

LOCK is a path in ZooKeeper, such as /locks/nightly. Of all processes that name
the same path, on any machine, one at a time runs its command, in the order in
which they came. With -s, several that use -s run at a time. With --limit, LOCK
is a semaphore: so many run at a time as have permits together. During the wait
zksync prints on stderr who holds the lock.

Flags go before COMMAND: what follows COMMAND is COMMAND's. Where the line has a
--, the words before it are locks. Several locks are taken and given back
together, and need the --. Commands that take the same locks in another order
do not block each other for ever. Without COMMAND zksync holds the lock until
HUP, INT (Ctrl-C), QUIT or TERM.

zksync looks COMMAND up before the wait, and runs it in a process group of its
own. It passes these signals on to the group: HUP, INT, QUIT, TERM, USR1, USR2,
ALRM, WINCH, TSTP, CONT. HUP and INT stay ignored if they were ignored when
zksync was started, as by nohup. During the wait HUP, INT, QUIT or TERM ends the
wait, a second one ends zksync at once, and the other signals are dropped.
zksync holds the lock until COMMAND itself has ended, even if COMMAND has left
processes running in the background.

COMMAND gets the terminal if both stdin and stdout are the terminal, and
otherwise when it uses the terminal. In a pipeline, a neighbour that uses the
terminal gets it back. Ctrl-Z stops zksync together with COMMAND; if that lasts
longer than the session timeout, the lock is lost.

The lock is lost if the session expires, if ZooKeeper is out of reach for half
the session timeout, or if somebody deletes the lock's node. Then COMMAND's
process group gets SIGTERM and, after --grace, SIGKILL. zksync may not signal a
COMMAND that runs as another user, as "zksync run LOCK sudo ..." does: such a
COMMAND goes on without the lock, and the last line of zksync says so. The safe
order is "sudo zksync run LOCK ...". A program that was stopped, or cut off from
everything, notices the loss late. So protect what matters with ZKSYNC_FENCE, a
number that grows from holder to holder: refuse a write that comes with a
smaller number than an earlier one.

If zksync itself is killed, even by kill -9, the kernel kills COMMAND (Linux and
FreeBSD). The kernel does not kill the processes that COMMAND has started, nor a
COMMAND that is setuid or has file capabilities. To be safe with a script, let
its last step be exec, or check ZKSYNC_FENCE. On Windows COMMAND is killed with
all that it has started, both then and at once when the lock is lost.

COMMAND has these variables in its environment:
  ZKSYNC_LOCK      LOCK, or all of them with a space between
  ZKSYNC_NODE      the node in ZooKeeper that holds the lock, or the first lock
  ZKSYNC_FENCE     the fence, a decimal number; with -s or --limit several hold
                   at a time, and it only orders their arrival
  ZKSYNC_SESSION   the ZooKeeper session, as 0x and hexadecimal digits

With --trace zksync prints the wait, the hold and the release as OpenTelemetry
spans on stderr: each is a line of JSON, printed when the span ends. Their
parent comes from ` + envTraceParent + ` and ` + envTraceState + ` in the environment. COMMAND
gets the hold as its parent in the same variables. The span of a wait has a link
to the span of the holder or waiter ahead, if that one publishes its span.
If OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set,
the spans are exported there as well. The protocol is http/protobuf, or grpc if
OTEL_EXPORTER_OTLP_PROTOCOL says so. The other standard variables of that name
are for headers, certificates, compression and timeouts.

zksync itself reads ` + envServers + ` and ` + envAuth + ` (scheme:credential, such as
digest:user:password) from the environment. COMMAND inherits both, but it does
not see a credential in --auth-file.

Exit codes:
  of COMMAND   it ran and ended by itself
  1            the lock was not obtained with -n or within -w (see -E)
  64           the command line or the lock path is invalid
  69           ZooKeeper can't be reached, or refuses to serve the lock
  71           the system can't start a process
  77           ZooKeeper refuses permission
  79           the lock was lost while COMMAND ran (see --lost-exit-code)
  126          COMMAND was found but can't be run
  127          COMMAND was not found
  128+N        signal N ended COMMAND, or the wait, or the hold without COMMAND`

const runExample = `  zksync run --servers zk1:2181,zk2:2181,zk3:2181 /locks/nightly ./backup.sh
  zksync run -n -E 0 /locks/report make report          # another one runs: fine
  zksync run -w 90 /locks/db psql -f migrate.sql        # wait for 90 seconds at most
  zksync run -s /locks/db pg_dump app                   # beside other readers
  zksync run --limit 4 /locks/convert convert in out    # four at a time
  zksync run /locks/a /locks/b -- ./move.sh             # both, or none
  zksync run /locks/deploy                              # until Ctrl-C`
