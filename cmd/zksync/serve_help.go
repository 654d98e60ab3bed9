package main

const serveLong = `Run a ZooKeeper in memory, for a laptop and for tests in any language.

IT KEEPS NOTHING: the tree is gone when the process ends. It has no TLS, and it
is for tests, not for production. It speaks ZooKeeper's protocol to any client.
It answers all four-letter words.

With --sasl-users-file clients can authenticate by SASL, mechanism DIGEST-MD5,
as with a JAAS file with ZooKeeper's DigestLoginModule. The file has a line
name:password for each user. With --super-password-file the user super can
authenticate by the scheme digest, and with --reconfig that user can change the
configuration of the ensemble. A server then joins and leaves in name only. The
environment variables ` + envSASLUsers + ` and ` + envSuper + ` can take the
place of these files. No flag takes a password, because others on this machine
see command lines. Kerberos is missing.

The first line on stdout is the address, once the server accepts connections.
--listen 127.0.0.1:0 takes a free port:

  zksync serve --listen 127.0.0.1:0 >address &

With --members 3 it is an ensemble of three servers. The first line has the
addresses of all, with a comma between.

Everyone who reaches the address can read and write everything, so the default
is this machine only.

HUP, INT, QUIT or TERM ends the server. With --until-eof the end of stdin does,
too: a server whose stdin is a pipe from a test ends with the test, even if that
is killed.

With --control there is a second port, through which a test makes faults. The
second line on stdout is its address, as http://127.0.0.1:40123. A request has
its parameters in its query, as a form, or as an object of JSON. An answer is
JSON; if the status is not 200 it says why in "error".

  curl "$control/sessions"
  curl -X POST "$control/expire?session=0x100000000000001"

Requests that look, by GET:
  /status                  the servers: addresses, which are stopped, who leads,
                           the faults in force
  /sessions                the sessions that have not ended
  /watches                 the watches that clients have left
  /tree path=              the nodes: all, or those at and below a path
  /requests MATCH result=  the last 10,000 requests since reset or forget
  /wait MATCH result= count= timeout= arrived=
                           wait until so many requests (1) were carried out or
                           lost since reset or forget, with arrived=true until
                           they came; after the timeout (10s) the status is 504

Requests that change, by POST. They answer as /status does:
  /reset                   empty the tree, end all sessions and faults
  /forget                  forget the requests that have come
  /expire session=         end a session, as if its client had been silent
  /disconnect session= member=
                           close its connections; the session lives on
  /stop member=            stop servers: no connections, none accepted
  /start member=           start them again
  /restart member= expired=
                           close all connections; with expired=true all sessions
                           have ended meanwhile
  /refuse /accept member=  refuse new connections, and accept them again
  /blackhole member= direction=
                           hold back traffic, without a sign: to-server,
                           to-client, or both
  /delay /jitter member= time=
                           make traffic slow, by a fixed or a random time
  /lag /catch-up member=   answer reads from an old state until a sync or write
  /cut-from-leader /rejoin-leader member=
                           keep a server from its leader
  /lead member=            elect this one as the leader
  /lose-quorum             serve nobody, as when most servers are stopped
  /regain-quorum           end that
  /drop what= MATCH count= lose the next request, or after carrying it out its
                           reply, and close the connection
  /heal member=            end all these faults

member= is the number of one server, from 0; without it the request is about
all. session= is a number, in decimal or as 0x and hex; expire and disconnect
want it, or session=all. A time is like 250ms, or plain seconds. MATCH is any of
op= (such as create, getData, multi), path=, below= (paths below this one) and
session=. A result is OK, or an error such as NoNode. Pings are neither recorded
nor lost, and a connect is never lost.

Web pages can't use the control port: it refuses requests of other origins, and
those that call this machine by a name other than localhost, its IP addresses
and --control-host.

Exit codes:
  0            a signal, or the end of stdin, ended the server
  64           the command line is invalid
  69           an address can't be listened on
  71           the address can't be printed`

const serveExample = `  zksync serve
  zksync serve --listen 127.0.0.1:0 --until-eof
  zksync serve --listen 127.0.0.1:0 --members 3 --control 127.0.0.1:0`
