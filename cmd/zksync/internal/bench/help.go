package bench

// Help describes the command for its users, in lines of at most 80 columns.
const Help = `Measure locks on a ZooKeeper of yours, for about ten seconds: the locks of
zksync, the lock of Go's ZooKeeper client (zk.Lock), and the floor, a node made
and deleted. All of them work by turns, in short rounds, so that a busy server
slows all of them. A figure is the median of the rounds, or of all cycles.

There are up to four workloads:

  free         one goroutine locks and unlocks a lock that nobody else wants
  goroutines   --goroutines goroutines of one session want one lock
  sessions     --sessions sessions want one lock, a goroutine each
  crowd        both: --sessions sessions with --goroutines goroutines each

The measurement writes to the servers as fast as they answer. It makes a node
below --path, zksync-bench- and a random number, works below that node only, and
deletes it at the end, also after Ctrl-C. If zksync is killed, the servers
delete the nodes when the sessions have timed out. Empty nodes may then stay.

The columns of the table:

  cycles/s   locks taken and released in a second
  ratio      cycles/s, divided by those of zk.Lock in the same round
  p50 ...    time from the call of Lock to the grant: median, 99 %, longest
  pass       from the call of Unlock to the grant in another session, median
  requests   to ZooKeeper, for a cycle
  fair       Jain's index over the sessions: 1 if all got the same
  worst      the longest time that a session waited for its next turn, divided
             by the median of these times

With --json the output is one object. Times are in seconds. A field that does
not apply is left out.

  version               1; a change that breaks readers gets another number
  zksync, go            versions
  servers, path         as given
  duration_seconds      how long the measurement took
  rounds                rounds of each lock in each workload
  workloads[]           name, title, sessions, goroutines (of each session), and
    locks[]             name (zksync, zksync Hold, zk.Lock, create+delete), and
      cycles            in all rounds
      cycles_per_second median of the rounds
      ratio             to zk.Lock, median of the rounds
      requests_per_cycle, events_per_cycle
      acquire_seconds   p50, p99, max: from the call to the grant
      pass_seconds      p50, p99, max: from Unlock to the grant in another
                        session
      fairness          jain; worst_to_median: the longest time that a session
                        waited for its next turn, divided by the median
                        (left out if no session had a second turn)

Exit codes:
  0            measured, and nothing is left behind
  1            two held a lock at once
  64           the command line is invalid
  69           ZooKeeper can't be reached, a lock failed, or nodes may be left
  71           the output can't be written
  77           ZooKeeper refuses permission
  128+N        signal N ended the measurement; nothing is left behind`
