package zksync

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// logger returns the logger for what must always be logged.
func (s *Session) logger() *slog.Logger {
	if s.cfg.logger != nil {
		return s.cfg.logger
	}
	return slog.Default()
}

// connLog is the handler of what the connection logs. Without WithLogger it passes on no
// more than warnings and errors, to slog.Default. Of the warnings and errors with one text
// it passes on one in half a minute.
type connLog struct{ s *Session }

func (h connLog) Enabled(ctx context.Context, level slog.Level) bool {
	if h.s.cfg.logger == nil && level < slog.LevelWarn {
		return false
	}
	return h.s.logger().Enabled(ctx, level)
}

func (h connLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		left, ok := h.s.trouble.pass(r.Message, r.Time)
		if !ok {
			return nil
		}
		if left > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("left_out", left))
		}
	}
	return h.s.logger().Handler().Handle(ctx, r)
}

// WithAttrs and WithGroup are not used: the connection's lines have no attributes in common.
func (h connLog) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h connLog) WithGroup(string) slog.Handler      { return h }

// linesApart is the least time between two lines of one key.
const linesApart = 30 * time.Second

// throttle lets one line in half a minute pass for each key, and counts those that it holds back.
// The zero value is ready to use.
type throttle struct {
	mu   sync.Mutex
	keys map[string]*passed // guarded by mu
}

// passed is when the last line of a key passed, and how many were held back since.
type passed struct {
	at   time.Time
	left int
}

// pass reports whether a line may pass now, and how many with its key were held back since
// the last one.
func (t *throttle) pass(key string, now time.Time) (left int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.keys[key]
	if p != nil && now.Sub(p.at) < linesApart {
		p.left++
		return 0, false
	}
	if t.keys == nil || len(t.keys) >= maxLogged {
		t.keys = make(map[string]*passed)
	}
	if p != nil {
		left = p.left
	}
	t.keys[key] = &passed{at: now}
	return left, true
}

// tried reports whether a call that returns no error has succeeded. A failure for another
// reason than that somebody else has the lock is logged.
func (s *Session) tried(err error) bool {
	var e *Error
	if errors.Is(err, ErrBusy) || !errors.As(err, &e) {
		return err == nil
	}
	if left, ok := s.failures.pass(e.Path+" "+e.ErrorType(), time.Now()); ok {
		log := s.logger()
		if left > 0 {
			log = log.With("left_out", left)
		}
		log.Warn("zksync: a lock was not taken, for another reason than that somebody else has it", "path", e.Path, "error", err)
	}
	return false
}
