package main

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// seconds is a flag's duration: Go's notation (1m30s), or plain seconds (5,
// 0.5) as flock and timeout take them.
type seconds time.Duration

// String returns nothing for zero, so that the help names no default.
func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *seconds) Type() string { return "duration" }

func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		n, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil || math.IsNaN(n) {
			return errors.New(`want a duration like 90s, 1m30s or plain seconds`)
		}
		if math.Abs(n) >= math.MaxInt64/float64(time.Second) {
			return errors.New("out of range")
		}
		d = time.Duration(n * float64(time.Second))
	}
	if d < 0 {
		return errors.New("must not be negative")
	}
	*s = seconds(d)
	return nil
}

// exitCode is a flag's exit code, in the range that a process has.
type exitCode struct {
	value *int
	min   int
}

func (c exitCode) String() string {
	if c.value == nil {
		return "0"
	}
	return strconv.Itoa(*c.value)
}

func (c exitCode) Type() string { return "code" }

func (c exitCode) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < c.min || n > 255 {
		return errors.New("want a number from " + strconv.Itoa(c.min) + " to 255")
	}
	*c.value = n
	return nil
}
