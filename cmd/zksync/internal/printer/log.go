package printer

import (
	"context"
	"log/slog"
	"strings"
)

// Logger returns a logger whose warnings and errors are lines of p. If p is quiet, warnings
// are dropped. Lower levels always are.
func (p *Printer) Logger() *slog.Logger { return slog.New(&handler{p: p}) }

// handler prints a record as its message and its attributes. Groups don't show.
type handler struct {
	p     *Printer
	attrs string // of WithAttrs
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError || level >= slog.LevelWarn && !h.p.quiet
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	attrs := h.attrs
	r.Attrs(func(a slog.Attr) bool {
		attrs += text(a)
		return true
	})
	h.p.Errorf("%s%s", strings.TrimPrefix(r.Message, "zksync: "), attrs)
	return nil
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	for _, a := range attrs {
		with.attrs += text(a)
	}
	return &with
}

func (h *handler) WithGroup(string) slog.Handler { return h }

// text returns an attribute as it follows a message.
func text(a slog.Attr) string { return ", " + a.Key + " " + a.Value.String() }
