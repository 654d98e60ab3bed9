package main

const runLong = `Run COMMAND while holding the lock LOCK, and exit with COMMAND's exit code.

LOCK is a path in ZooKeeper, as /locks/nightly. Of all who name the same path,
on whatever machine, one runs its command at a time, in the order in which
they came. The wait is announced on stderr, with who holds the lock.

COMMAND is looked up before the wait, and runs in a process group of its own,
which gets the signals that zksync gets: HUP, INT, QUIT, TERM, USR1, USR2, ALRM,
WINCH, TSTP, CONT. HUP, INT, QUIT or TERM during the wait ends the wait, and a
second one ends zksync at once; the others are dropped then.
The lock is held until COMMAND itself has ended, whatever it left running in
the background.

If the lock is lost (the session expired, ZooKeeper was out of reach for half
the session timeout, somebody deleted the lock's node), COMMAND's process group
gets SIGTERM and, after --grace, SIGKILL. A program that was stopped, or cut off
from everything, notices late: guard what matters with ZKSYNC_FENCE, a number
that grows from holder to holder, and refuse what comes with a smaller one.

If zksync itself is killed, even by kill -9, the kernel kills COMMAND (Linux and
FreeBSD). That does not cover what COMMAND has started itself, nor a COMMAND
that is setuid or has file capabilities. To be safe with a script, let its last
step be exec, or check ZKSYNC_FENCE.

COMMAND finds in its environment:
  ZKSYNC_LOCK      LOCK
  ZKSYNC_NODE      the node in ZooKeeper by which it is held
  ZKSYNC_FENCE     the fence, a decimal number
  ZKSYNC_SESSION   the ZooKeeper session, as 0x and hexadecimal digits

With --trace the wait, the hold and the release are printed as OpenTelemetry
spans on stderr, each as a line of JSON when it ends. ` + envTraceParent + ` (and
` + envTraceState + `) of the environment is their parent; in COMMAND's it is the
hold. The span of a wait has a link to the span of whoever was ahead, if that
one says its own.

zksync reads ` + envServers + ` and ` + envAuth + ` (scheme:credential, as in
digest:user:password) from its own. COMMAND inherits both; a credential in
--auth-file stays out of its sight.

Exit codes:
  of COMMAND   when it ran and ended by itself
  1            the lock was not obtained with -n or within -w (see -E)
  64           a command line or a lock path that makes no sense
  69           ZooKeeper can't be reached, or refuses to serve the lock
  71           the system can't start a process
  77           ZooKeeper refuses permission
  79           the lock was lost while COMMAND ran (see --lost-exit-code)
  126          COMMAND was found but can't be run
  127          COMMAND was not found
  128+N        signal N ended COMMAND, or the wait`

const runExample = `  zksync run --servers zk1:2181,zk2:2181,zk3:2181 /locks/nightly -- ./backup.sh
  zksync run -n -E 0 /locks/report -- make report       # somebody is at it: fine
  zksync run -w 90 /locks/db -- psql -f migrate.sql     # wait for 90 seconds at most`
