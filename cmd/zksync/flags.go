package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/suggest"
)

// seconds is a duration as a flag: in Go's notation (1m30s), or in plain seconds
// (5, 0.5) as flock and timeout take them.
type seconds time.Duration

// String returns nothing for zero, so that the help shows no default.
func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

// Type returns what the help calls a value.
func (s *seconds) Type() string { return "duration" }

// Set reads text, which must not be negative.
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

// exitCode is an exit code as a flag, from min to the largest that a process can
// have.
type exitCode struct {
	value *int
	min   int
}

// String returns the code, which the help shows as the default.
func (c exitCode) String() string {
	if c.value == nil {
		return "0"
	}
	return strconv.Itoa(*c.value)
}

// Type returns what the help calls a value.
func (c exitCode) Type() string { return "code" }

// Set reads text, which must be in the range.
func (c exitCode) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < c.min || n > 255 {
		return errors.New("want a number from " + strconv.Itoa(c.min) + " to 255")
	}
	*c.value = n
	return nil
}

// output is the format of a command's output as a flag.
type output string

// The formats.
const (
	outputTable output = "table"
	outputJSON  output = "json"
)

// String returns the format, which the help shows as the default.
func (o *output) String() string { return string(*o) }

// Type returns what the help calls a value.
func (o *output) Type() string { return "format" }

// Set reads text.
func (o *output) Set(text string) error {
	switch output(text) {
	case outputTable, outputJSON:
		*o = output(text)
		return nil
	}
	return errors.New("want table or json")
}

// suggestFlag adds to an error about an unknown flag the flag that was probably meant.
func suggestFlag(cmd *cobra.Command, err error) error {
	_, wrong, found := strings.Cut(err.Error(), "unknown flag: --")
	if !found {
		return err
	}
	best, distance := "", 3 // as cobra's suggestions for commands
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if d := suggest.Distance(wrong, f.Name); !f.Hidden && (d < distance || len(wrong) > 2 && strings.HasPrefix(f.Name, wrong)) {
			best, distance = f.Name, min(d, distance)
		}
	})
	if best == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, best)
}
