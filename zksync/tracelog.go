package zksync

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"
)

// LogLimits says from when on [LogTracer] logs. It is a plain value. A limit of 0
// or less logs nothing of its kind.
type LogLimits struct {
	Wait time.Duration // of a call that wants a lock
	Hold time.Duration // of a tenure, from the grant to the release or the loss
}

// LogTracer returns a Tracer that logs, to l, the waits and the holds that exceed a
// limit. It logs a warning when the time exceeds the limit, and another line when the
// wait or the hold is over. If l is nil, slog.Default at that time is used.
//
// The line about a wait describes the call ahead (holder, host, pid, owner, node,
// since) by the data of its lock node. Only a call in place 1 waits for the holder
// itself. The line about a hold has the label, or else the owner's name, of the call
// that got the lock.
//
// About one lock it logs 10 lines a second at most, and then one line with the number of
// those that it has left out.
func LogTracer(l *slog.Logger, limits LogLimits) *Tracer {
	lt := &logTracer{log: l, limits: limits}
	t := &Tracer{}
	if limits.Wait > 0 {
		t.AcquireStart, t.Blocked, t.AcquireEnd = lt.start, lt.blocked, lt.end
	}
	if limits.Hold > 0 {
		t.HoldStart, t.HoldEnd = lt.holdStart, lt.holdEnd
	}
	return t
}

// logTracer's address, and that of its field holds, are the keys of its values in
// contexts.
type logTracer struct {
	log    *slog.Logger
	limits LogLimits
	holds  byte

	mu      sync.Mutex
	seconds map[string]*logSecond // guarded by mu; of the locks about which there was a line in the last second
}

// linesASecond bounds the lines about one lock.
const linesASecond = 10

// logSecond counts the lines about one lock within a second.
type logSecond struct {
	lines, left int
	level       slog.Level // the highest of those that were left out
}

// pass reports whether a line about a lock may be logged now. If it may not, the line is
// counted, and the count is logged at the end of the second.
func (lt *logTracer) pass(lock string, level slog.Level) bool {
	lt.mu.Lock()
	defer lt.mu.Unlock()
	s := lt.seconds[lock]
	if s == nil {
		if lt.seconds == nil {
			lt.seconds = make(map[string]*logSecond)
		}
		s = &logSecond{level: slog.LevelInfo}
		lt.seconds[lock] = s
		time.AfterFunc(time.Second, func() { lt.ended(lock, s) })
	}
	if s.lines++; s.lines <= linesASecond {
		return true
	}
	s.left++
	s.level = max(s.level, level)
	return false
}

func (lt *logTracer) ended(lock string, s *logSecond) {
	lt.mu.Lock()
	delete(lt.seconds, lock)
	lt.mu.Unlock()
	if s.left > 0 {
		lt.logger().LogAttrs(context.Background(), s.level, "zksync: lines about long waits or holds of a lock were left out",
			slog.String("lock", lock), slog.Int("left_out", s.left))
	}
}

func (lt *logTracer) logger() *slog.Logger {
	if lt.log != nil {
		return lt.log
	}
	return slog.Default()
}

// overdue calls a function when a limit is exceeded, unless it was stopped before.
type overdue struct {
	timer *time.Timer

	mu    sync.Mutex
	fired bool // guarded by mu
	over  bool // guarded by mu
}

func (o *overdue) start(limit time.Duration, f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = time.AfterFunc(limit, func() {
		o.mu.Lock()
		over := o.over
		o.fired = o.fired || !over
		o.mu.Unlock()
		if !over {
			f() // without the mutex: a log may be slow
		}
	})
}

// stop reports whether the function was called.
func (o *overdue) stop() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer.Stop()
	o.over = true
	return o.fired
}

// logWait is a call. As a context it is its own value.
type logWait struct {
	context.Context
	overdue
	lt    *logTracer
	acq   AcquireInfo
	begin time.Time

	peerMu sync.Mutex
	peer   *Peer // guarded by peerMu; the newest
}

func (w *logWait) Value(key any) any {
	if key == any(w.lt) {
		return w
	}
	return w.Context.Value(key)
}

func (lt *logTracer) start(ctx context.Context, a AcquireInfo) context.Context {
	w := &logWait{Context: ctx, lt: lt, acq: a, begin: time.Now()}
	w.overdue.start(lt.limits.Wait, func() {
		w.log(slog.LevelWarn, "zksync: long wait for a lock", time.Since(w.begin))
	})
	return w
}

func (lt *logTracer) blocked(ctx context.Context, p Peer) {
	if w, _ := ctx.Value(lt).(*logWait); w != nil {
		w.peerMu.Lock()
		w.peer = &p
		w.peerMu.Unlock()
	}
}

func (lt *logTracer) end(ctx context.Context, _ AcquireInfo, r AcquireEndInfo) {
	w, _ := ctx.Value(lt).(*logWait)
	switch {
	case w == nil || !w.stop() && r.Waited < lt.limits.Wait:
	case r.Err != nil:
		w.log(slog.LevelWarn, "zksync: long wait for a lock ended without it", r.Waited, slog.Any("error", r.Err))
	default:
		w.log(slog.LevelInfo, "zksync: long wait for a lock is over", r.Waited)
	}
}

func (w *logWait) log(level slog.Level, text string, waited time.Duration, more ...slog.Attr) {
	log := w.lt.logger()
	if !log.Enabled(w, level) || !w.lt.pass(w.acq.Path, level) {
		return
	}
	w.peerMu.Lock()
	p := w.peer
	w.peerMu.Unlock()
	attrs := append([]slog.Attr{slog.String("lock", w.acq.Path), slog.String("mode", string(w.acq.Mode)),
		slog.Duration("waited", waited)}, more...)
	if p != nil {
		attrs = append(attrs, slog.Int("place", p.Position), slog.String("holder", p.Identity), slog.String("host", p.Host),
			slog.Int("pid", p.PID), slog.String("owner", p.OwnerName), slog.String("node", p.Node), slog.Time("since", p.Since))
	}
	log.LogAttrs(w, level, text, attrs...)
}

// logHold is a tenure. As a context it is its own value.
type logHold struct {
	context.Context
	overdue
	lt  *logTracer
	acq AcquireInfo
}

func (h *logHold) Value(key any) any {
	if key == any(&h.lt.holds) {
		return h
	}
	return h.Context.Value(key)
}

func (lt *logTracer) holdStart(ctx context.Context, a AcquireInfo) context.Context {
	h := &logHold{Context: ctx, lt: lt, acq: a}
	h.overdue.start(lt.limits.Hold, func() {
		h.log(slog.LevelWarn, "zksync: a lock is held for long", lt.limits.Hold)
	})
	return h
}

func (lt *logTracer) holdEnd(ctx context.Context, _ AcquireInfo, e HoldEndInfo) {
	h, _ := ctx.Value(&lt.holds).(*logHold)
	if h != nil && (h.stop() || e.Held >= lt.limits.Hold) {
		h.log(slog.LevelInfo, "zksync: a long hold of a lock is over", e.Held, slog.String("reason", string(e.Reason)))
	}
}

func (h *logHold) log(level slog.Level, text string, held time.Duration, more ...slog.Attr) {
	log := h.lt.logger()
	if !log.Enabled(h, level) || !h.lt.pass(h.acq.Path, level) {
		return
	}
	attrs := append([]slog.Attr{slog.String("lock", h.acq.Path), slog.String("mode", string(h.acq.Mode)),
		slog.Duration("held", held), slog.String("owner", cmp.Or(h.acq.Label, h.acq.Owner.Name()))}, more...)
	log.LogAttrs(h, level, text, attrs...)
}
