package costs_test

import (
	"bytes"
	"fmt"
)

// The picture is drawn by numbers with at most one decimal, so that it is the same on
// every machine.

const (
	panelWidth, panelHeight = 330.0, 220.0
	marginLeft, marginTop   = 52.0, 46.0
	mostWaiters, mostCost   = 200.0, 200.0
	naiveColour, ourColour  = "#c0392b", "#1f6fb2"
)

// draw returns the picture as SVG: events and requests against the number of those who
// wait.
func (h herd) draw() []byte {
	b := new(bytes.Buffer)
	width, height := 2*(panelWidth+marginLeft)+30, panelHeight+marginTop+64
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`+"\n",
		width, height, width, height)
	b.WriteString("<title>What a release of a lock costs: the naive recipe and zksync</title>\n")
	fmt.Fprintf(b, `<rect width="%.0f" height="%.0f" fill="#ffffff"/>`+"\n", width, height)
	drawPanel(b, marginLeft, "sessions woken by a release (events)", h, func(r release) int64 { return r.events })
	drawPanel(b, 2*marginLeft+panelWidth+10, "requests for a release, of all sessions", h, func(r release) int64 { return r.requests })
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// drawPanel draws one diagram with its left edge at x.
func drawPanel(b *bytes.Buffer, x float64, title string, h herd, value func(release) int64) {
	across := func(n float64) float64 { return x + panelWidth*n/mostWaiters }
	up := func(v float64) float64 { return marginTop + panelHeight*(1-v/(1.05*mostCost)) }
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-weight="bold">%s</text>`+"\n", x, marginTop-22, title)
	for v := 0.0; v <= mostCost; v += 50 {
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#dddddd"/>`+"\n", x, up(v), x+panelWidth, up(v))
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#555555">%.0f</text>`+"\n", x-6, up(v)+4, v)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555555">%.0f</text>`+"\n", across(v), up(0)+16, v)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#555555">sessions that wait</text>`+"\n", x+panelWidth/2, up(0)+34)
	series := func(name, colour string, list []release, lift float64) {
		fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="2" points="`, colour)
		for i, r := range list {
			fmt.Fprintf(b, " %.1f,%.1f", across(float64(crowds[i])), up(float64(value(r))))
		}
		b.WriteString(`"/>` + "\n")
		for i, r := range list {
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", across(float64(crowds[i])), up(float64(value(r))), colour)
		}
		last := value(list[len(list)-1])
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end" fill="%s">%s: %d</text>`+"\n",
			x+panelWidth-10, up(float64(last))+lift, colour, name, last)
	}
	series("naive", naiveColour, h.naive, -6)
	series("zksync", ourColour, h.ours, -8)
}
