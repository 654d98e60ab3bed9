package main

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestDemoVerdict(t *testing.T) {
	hold := func(worker int, fence, begin, end int64) held {
		return held{worker: worker, fence: fence, begin: begin, end: end, how: saysRelease}
	}
	for _, tt := range []struct {
		name   string
		holds  []held
		faults []string
		grow   bool
	}{
		{"in order", []held{hold(0, 5, 10, 20), hold(1, 6, 21, 30), hold(0, 9, 35, 40)}, nil, true},
		{"told late", []held{hold(1, 6, 21, 30), hold(0, 5, 10, 20)}, nil, true},
		{"touching", []held{hold(0, 5, 10, 20), hold(1, 6, 20, 30)}, nil, true},
		{"overlap", []held{hold(0, 5, 10, 22), hold(1, 6, 20, 30)},
			[]string{"worker 1 with fence 5 and worker 2 with fence 6 held the lock at the same time, for 2ns"}, true},
		{"overlap with one long before", []held{hold(0, 5, 10, 50), hold(1, 6, 60, 61), hold(2, 7, 62, 90), hold(1, 8, 91, 92), hold(0, 9, 70, 80)},
			[]string{"worker 3 with fence 7 and worker 1 with fence 9 held the lock at the same time, for 10ns", "fence 8 of worker 2 came after fence 9"}, false},
		{"one within another", []held{hold(0, 5, 10, 90), hold(1, 6, 20, 30), hold(2, 7, 40, 50)},
			[]string{"worker 1 with fence 5 and worker 2 with fence 6", "worker 1 with fence 5 and worker 3 with fence 7"}, true},
		{"the same fence", []held{hold(0, 5, 10, 20), hold(1, 5, 21, 30)}, []string{"fence 5 of worker 2 came after fence 5 of worker 1"}, false},
		{"a smaller fence", []held{hold(0, 5, 10, 20), hold(1, 4, 21, 30)}, []string{"fence 4 of worker 2 came after fence 5 of worker 1"}, false},
		{"no end", []held{{worker: 0, fence: 5, begin: 10}}, []string{"nobody knows when the hold of worker 1 with fence 5 ended"}, true},
		{"an end before the begin", []held{hold(0, 5, 10, 9)}, []string{"ended before it began"}, true},
		{"no holds", nil, []string{"nobody ever held the lock"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := (&judge{holds: tt.holds}).verdict()
			if len(v.faults) != len(tt.faults) || v.grow != tt.grow {
				t.Fatalf("faults %v, fences grow: %v; want %q, %v", v.faults, v.grow, tt.faults, tt.grow)
			}
			for i, want := range tt.faults {
				if !strings.Contains(v.faults[i].Error(), want) {
					t.Errorf("fault %q, want %q", v.faults[i], want)
				}
			}
		})
	}
}

// What the demo exits with when the lock has failed: planted, because it
// does not.
func TestDemoExitCodes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		second held
		act    act
		code   int
		says   string
	}{
		{"all is well", held{fence: 6, begin: 21, end: 30}, finished, 0, "no two holds overlapped"},
		{"overlap", held{fence: 6, begin: 19, end: 30}, finished, 1, "WRONG: worker 1 with fence 5"},
		{"the fence does not grow", held{fence: 5, begin: 21, end: 30}, finished, 1, "WRONG: fence 5"},
		{"not all was shown", held{fence: 6, begin: 21, end: 30}, cutting, 1, "not everything could be shown"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &demo{workers: 2, length: minLength, script: script{act: tt.act}}
			d.judge.begin(0, 5, 10)
			d.judge.end(0, 20, saysRelease)
			d.judge.begin(1, tt.second.fence, tt.second.begin)
			d.judge.end(1, tt.second.end, saysRelease)
			summary, err := d.conclude()
			var exit *exitError
			code := 0
			if errors.As(err, &exit) {
				code = exit.code
			}
			if code != tt.code || (err != nil) != (code != 0) {
				t.Errorf("ended with %v, want exit code %d", err, tt.code)
			}
			text := ""
			for _, e := range summary {
				text += e.text + "\n"
			}
			if !strings.Contains(text, tt.says) || tt.code != 0 && strings.Contains(text, "no two holds overlapped") {
				t.Errorf("the summary should say %q:\n%s", tt.says, text)
			}
		})
	}
}

func TestDemoStore(t *testing.T) {
	var s store
	for _, w := range []struct {
		fence int64
		taken bool
	}{{5, true}, {5, true}, {9, true}, {5, false}, {8, false}, {9, true}} {
		if got := s.write(w.fence); got != w.taken {
			t.Errorf("a write with fence %d taken: %v, want %v", w.fence, got, w.taken)
		}
	}
	if s.accepted != 4 || s.refused != 2 {
		t.Errorf("%d accepted, %d refused", s.accepted, s.refused)
	}
}

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

func TestDemoLogIsInOrder(t *testing.T) {
	line := newTimeline(1, time.Second)
	for _, at := range []int64{5, 3, 8, 4} {
		line.say(event{at: at})
	}
	line.shown = 3 // it is too late for what comes before
	line.say(event{at: 1})
	var got []int64
	for _, e := range line.log {
		got = append(got, e.at)
	}
	want := []int64{3, 4, 5, 1, 8}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}

func TestDemoClip(t *testing.T) {
	for _, tt := range []struct {
		line, want string
	}{
		{"short", "short"},
		{"123456789", "1234567"},
		{"12\x1b[30;42m345\x1b[0m6789", "12\x1b[30;42m345\x1b[0m67"},
		{"123456\x1b[31m789\x1b[0m", "123456\x1b[31m7\x1b[0m"},
	} {
		if got := clip(tt.line, 7); got != tt.want {
			t.Errorf("%q is clipped to %q, want %q", tt.line, got, tt.want)
		}
	}
}
