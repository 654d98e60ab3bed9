package demo

import (
	"strings"
	"testing"
	"time"
)

func TestDemoPicture(t *testing.T) {
	at := func(s float64) int64 { return int64(s * float64(time.Second)) }
	line := newTimeline(2, 10*time.Second)
	line.start = 0
	line.turn(0, span{from: at(0.1), doing: idle})
	line.turn(0, span{from: at(1), doing: waiting})
	line.turn(0, span{from: at(2), doing: holding, fence: 12})
	line.mark(0, at(3.9), signKilled)
	line.turn(0, span{from: at(4), doing: away})
	line.turn(1, span{from: at(0.5), doing: waiting})
	line.turn(1, span{from: at(4), doing: holding, fence: 1234567})
	line.cut(1, at(5))
	line.mark(1, at(6), signLost)
	line.turn(1, span{from: at(6), doing: idle})
	line.cut(1, at(7))
	line.turn(1, span{from: at(8), doing: waiting})
	want := []string{
		"          0 s 1   2   3   4   5   6   7   8   9   10",
		"worker 1      ....###12###X                        killed",
		"worker 2    ..............1234567#!~~~    ....     waits",
	}
	if got := line.picture(false, nameWidth+40+1+wordWidth, at(9)); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the picture is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
