package conn

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

const (
	// firstPatience is how long the first connection may take before that is logged.
	firstPatience = 2 * time.Second
	// outagesApart is the least time between two warnings about lost contact. A later one
	// comes late, if the contact is still lost then.
	outagesApart = time.Minute
)

// outages logs when no connection comes, when the contact with the servers is lost, and when
// it is back. Its lines come from one goroutine, so that they keep their order, and a
// logger that blocks delays nothing else.
type outages struct {
	c       *Conn
	session int64     // that was connected last; 0: none yet
	since   time.Time // when a server was last heard; zero while there is a connection
	warned  bool      // about this outage
	known   bool      // that there was a connection: this goroutine saw one
	last    time.Time // the last warning about lost contact
}

// logOutages runs until the Conn is closed.
func (c *Conn) logOutages() {
	o := outages{c: c, since: time.Now()}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		st, changed := c.State()
		wait := o.next(st, time.Now())
		timer.Reset(wait)
		due := timer.C
		if wait < 0 {
			due = nil
		}
		select {
		case <-due:
		case <-changed:
		case <-c.life.Done():
			return
		}
	}
}

// next logs what is due in a state, and returns when to look again if the state does not
// change; a negative time means never.
func (o *outages) next(st State, now time.Time) time.Duration {
	if st.Up {
		o.connected(st, now)
		return -1
	}
	if o.session == 0 {
		o.session = st.Session // the connection was over before this goroutine saw it
	}
	if o.since.IsZero() {
		o.since = o.c.heard(now)
	}
	if o.warned {
		return -1
	}
	due := o.since.Add(firstPatience)
	if o.session != 0 {
		due = o.since.Add(o.c.Timeout() / 3)
		if !o.last.IsZero() {
			due = latest(due, o.last.Add(outagesApart))
		}
	}
	if wait := due.Sub(now); wait > 0 {
		return wait
	}
	o.warned = true
	if o.session != 0 {
		o.last = now
	}
	o.warn(now)
	return -1
}

// connected logs that there is a connection, if it is the first one, if there was a
// warning, or if the session is another one.
func (o *outages) connected(st State, now time.Time) {
	// A connection that was over before this goroutine saw it was not logged.
	first, other := o.session == 0 || !o.known && !o.warned, o.session != st.Session
	attrs := []slog.Attr{slog.String("server", st.Server), slog.String("session", fmt.Sprintf("%#x", uint64(st.Session))),
		slog.Duration("session_timeout", o.c.Timeout())}
	if !o.since.IsZero() && !first {
		attrs = append(attrs, slog.Duration("after", now.Sub(o.since).Round(time.Millisecond)))
	}
	switch {
	case first:
		o.log(slog.LevelInfo, "zksync: connected to ZooKeeper", attrs)
	case other:
		o.log(slog.LevelInfo, "zksync: connected to ZooKeeper again, with a new session: the old one is over", attrs)
	case o.warned:
		o.log(slog.LevelInfo, "zksync: connected to ZooKeeper again, with the same session", attrs)
	}
	o.session, o.since, o.warned, o.known = st.Session, time.Time{}, false, true
}

// warn logs that there is no connection, and why.
func (o *outages) warn(now time.Time) {
	c := o.c
	attrs := []slog.Attr{slog.Duration("after", now.Sub(o.since).Round(time.Millisecond))}
	if c.foreign == nil {
		c.mu.Lock()
		l := c.link
		c.mu.Unlock()
		attrs = append(attrs, slog.String("servers", reasons(l.report(c.cfg.Servers))))
	}
	text := "zksync: no connection to ZooKeeper yet"
	if o.session != 0 {
		text = "zksync: the contact with ZooKeeper is lost"
		plain := 0
		if c.cfg.Plain != nil {
			plain = c.cfg.Plain()
		}
		if plain > 0 {
			text += ": locks without a handle may be lost, and their holders would not know"
			attrs = append(attrs, slog.Int("plain_locks", plain), slog.Time("lost_from", o.since.Add(c.Timeout())))
		}
	}
	o.log(slog.LevelWarn, text, attrs)
}

func (o *outages) log(level slog.Level, text string, attrs []slog.Attr) {
	o.c.cfg.Logger.LogAttrs(context.Background(), level, text, attrs...)
}

// heard returns when a server was last heard on the newest connection. For a program's
// client that is not known: it returns now.
func (c *Conn) heard(now time.Time) time.Time {
	if c.foreign != nil {
		return now
	}
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	if at := time.Unix(0, l.heard.Load()); at.Before(now) && now.Sub(at) < c.Timeout() {
		return at
	}
	return now // the clock was set, or the process was stopped
}
