package doctor

// Help describes the command for its users, in lines of at most 80 columns.
const Help = `Examine a ZooKeeper ensemble from this machine, and say what to do about what is
not as locks need it.

Each server in the list is examined by itself: whether it gives a session, its
version and role, and how long a read and a write take. Then: whether the
servers are one ensemble, which session timeout they grant, whether they have
container nodes and answer four-letter words, whether these credentials may
create, list and delete nodes below --path, whether the leader's clock agrees
with this machine's, and what a lock costs. All of this takes about a second,
and longer if the servers are slow: each request may take --connect-timeout.

Writes are slow if one takes 1/24 of the session timeout or more (417 ms of the
default 10 s): that is a note. From a sixth of it on (1.7 s) it is a problem:
a holder of a lock then takes the server for dead, and looks for another one.

The doctor makes a node below --path, or below the nearest node above it that
exists, and deletes it again. It leaves nothing behind: the node is ephemeral,
or one that the servers delete when it is empty.

A finding is one of three:

  ok        as it should be
  note      good to know; nothing has to be done
  problem   something should be done, and the line after it says what

With -o json the output is JSON, as the schema in the repository describes it
(cmd/zksync/internal/doctor/schema.json). Later versions may add fields.

Exit codes:
  0            no problem
  1            a problem was found
  64           the command line is invalid
  69           no server gives a session and answers writes, or --timeout is
               over
  71           the output can't be written
  77           all servers refuse the credentials
  128+N        signal N ended the examination; nothing is left behind`
