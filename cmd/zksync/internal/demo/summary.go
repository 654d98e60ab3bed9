package demo

import (
	"fmt"
	"strings"
	"time"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// conclude returns what the demo has shown. Its error means that the lock has not
// kept its promises, or that there was no time to show everything.
func (d *demo) conclude() (summary []event, err error) {
	add := func(who string, t tone, format string, args ...any) {
		summary = append(summary, event{who: who, tone: t, text: fmt.Sprintf(format, args...)})
	}
	for i := range d.workers {
		add(workerName(i), plainTone, "%s", d.judge.account(i))
	}
	v := d.judge.verdict()
	add("fences", plainTone, "%s", v.order())
	late := "none came late"
	if d.store.refused > 0 {
		late = fmt.Sprintf("%d late and refused", d.store.refused)
	}
	add("store", plainTone, "%d %s accepted, %s", d.store.accepted, plural(d.store.accepted, "write"), late)
	for _, fault := range v.faults {
		add("verdict", badTone, "WRONG: %v", fault)
	}
	switch {
	case len(v.faults) > 0:
		return summary, &exit.Error{Code: exit.Conflict}
	case d.script.act != finished:
		add("verdict", badTone, "not everything could be shown: this machine has not had the time")
		return summary, &exit.Error{Code: exit.Conflict}
	}
	add("verdict", goodTone, "no two holds overlapped; the closest two were %v apart", v.closest.Round(10*time.Microsecond))
	return summary, nil
}

// order returns whether the fences grow, and the fences.
func (v *verdict) order() string {
	const most = 8 // for a line of 80 columns
	var b strings.Builder
	for i, f := range v.fences {
		if len(v.fences) > most && i == most/2 {
			b.WriteString(" ...")
		}
		if len(v.fences) > most && i >= most/2 && i < len(v.fences)-most/2 {
			continue
		}
		fmt.Fprintf(&b, " %d", f)
	}
	if !v.grow {
		return "NOT each larger than the one before:" + b.String()
	}
	return "each larger than the one before:" + b.String()
}

// account returns how often a worker held the lock, and what happened to it.
func (j *judge) account(worker int) string {
	n := j.count(worker)
	text := fmt.Sprintf("%d %s", n, plural(n, "hold"))
	for _, h := range j.holds {
		if h.worker != worker || h.how == saysRelease {
			continue
		}
		what := "killed with"
		if h.how == saysLost {
			what = "lost"
		}
		text += fmt.Sprintf("; %s fence %d", what, h.fence)
		if gap, found := j.gap(h); found {
			text += fmt.Sprintf(", %.2f s before the next hold", gap.Seconds())
		}
	}
	return text
}

// plural returns word as it follows the number n.
func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
