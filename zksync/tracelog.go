package zksync

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// LogTracer returns a Tracer that logs, to l, calls that wait for a lock for longer
// than threshold. It logs a warning with the call ahead when the wait becomes longer
// than threshold, and another line with the result when the wait is over. A threshold
// of 0 logs every call that finds somebody ahead. If l is nil, slog.Default at that
// time is used.
//
// The attributes of the call ahead (holder, host, pid, owner, node, since) come from
// its lock node. Only a call in place 1 waits for the holder itself.
func LogTracer(l *slog.Logger, threshold time.Duration) *Tracer {
	lt := &logTracer{log: l, threshold: threshold}
	return &Tracer{AcquireStart: lt.start, Blocked: lt.blocked, AcquireEnd: lt.end}
}

// logTracer's address is the key of its waits in contexts.
type logTracer struct {
	log       *slog.Logger
	threshold time.Duration
}

// logWait is a call. As a context it is its own value.
type logWait struct {
	context.Context
	lt    *logTracer
	acq   AcquireInfo
	begin time.Time
	timer *time.Timer

	mu   sync.Mutex
	peer *Peer // guarded by mu; the newest
	told bool  // guarded by mu
	over bool  // guarded by mu
}

func (w *logWait) Value(key any) any {
	if key == any(w.lt) {
		return w
	}
	return w.Context.Value(key)
}

func (lt *logTracer) start(ctx context.Context, a AcquireInfo) context.Context {
	w := &logWait{Context: ctx, lt: lt, acq: a, begin: time.Now()}
	if lt.threshold > 0 {
		w.timer = time.AfterFunc(lt.threshold, w.due)
	}
	return w
}

func (lt *logTracer) blocked(ctx context.Context, p Peer) {
	w, _ := ctx.Value(lt).(*logWait)
	if w == nil {
		return
	}
	w.mu.Lock()
	w.peer = &p
	w.mu.Unlock()
	if lt.threshold <= 0 {
		w.due()
	}
}

// due tells of a wait that is too long, once.
func (w *logWait) due() {
	w.mu.Lock()
	done, p := w.told || w.over, w.peer
	w.told = w.told || !done
	w.mu.Unlock()
	if !done {
		w.tell(p, slog.LevelWarn, "zksync: long wait for a lock", time.Since(w.begin))
	}
}

func (lt *logTracer) end(ctx context.Context, _ AcquireInfo, r AcquireEndInfo) {
	w, _ := ctx.Value(lt).(*logWait)
	if w == nil {
		return
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Lock()
	w.over = true
	told, p := w.told, w.peer
	w.mu.Unlock()
	switch {
	case !told && (lt.threshold <= 0 || r.Waited < lt.threshold):
	case r.Err != nil:
		w.tell(p, slog.LevelWarn, "zksync: long wait for a lock ended without it", r.Waited, slog.Any("error", r.Err))
	default:
		w.tell(p, slog.LevelInfo, "zksync: long wait for a lock is over", r.Waited)
	}
}

// tell is called without w.mu: a log may be slow.
func (w *logWait) tell(p *Peer, level slog.Level, text string, waited time.Duration, more ...slog.Attr) {
	log := w.lt.log
	if log == nil {
		log = slog.Default()
	}
	if !log.Enabled(w, level) {
		return
	}
	attrs := append([]slog.Attr{slog.String("lock", w.acq.Path), slog.String("mode", string(w.acq.Mode)),
		slog.Duration("waited", waited)}, more...)
	if p != nil {
		attrs = append(attrs, slog.Int("place", p.Position), slog.String("holder", p.Identity), slog.String("host", p.Host),
			slog.Int("pid", p.PID), slog.String("owner", p.OwnerName), slog.String("node", p.Node), slog.Time("since", p.Since))
	}
	log.LogAttrs(w, level, text, attrs...)
}
