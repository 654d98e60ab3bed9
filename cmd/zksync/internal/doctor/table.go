package doctor

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/table"
)

// WriteTable writes the report for a person, in the style for w.
func (r *Report) WriteTable(w io.Writer, style *table.Style) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVER\tSTATE\tVERSION\tROLE\tREAD\tWRITE\tSESSION")
	for _, s := range r.Servers {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Address, stateNames[s.State], known(s.Version), known(s.Role), duration(s.Read), duration(s.Write), duration(s.Granted))
	}
	t.Flush()
	fmt.Fprintln(&b)
	problems, notes := 0, 0
	for _, f := range r.Findings {
		level := fmt.Sprintf("%-7s", f.Level)
		switch f.Level {
		case Problem:
			problems++
			level = style.Bad(level)
		case Note:
			notes++
			level = style.Warn(level)
		}
		text := f.Text
		if f.Server != "" {
			text = f.Server + ": " + text
		}
		fmt.Fprintf(&b, "%s  %-11s  %s\n", level, f.Check, text)
		if f.Advice != "" {
			fmt.Fprintf(&b, "%22s-> %s\n", "", f.Advice)
		}
	}
	fmt.Fprintf(&b, "\n%s, %s\n", count(problems, "problem"), count(notes, "note"))
	_, err := w.Write(b.Bytes())
	return err
}

var stateNames = map[State]string{Serving: "serving", NotServing: "not serving", Unreached: "unreachable"}

func known(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func duration(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return short(seconds)
}

func count(n int, what string) string {
	switch n {
	case 0:
		return "no " + what + "s"
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
