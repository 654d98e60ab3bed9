//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestLookCommand(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write := func(dir, name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(first, "both", 0o644)
	write(first, "plain", 0o644)
	both := write(second, "both", 0o755)
	here := write(second, "here", 0o755)
	if err := os.Mkdir(filepath.Join(first, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", first+string(filepath.ListSeparator)+second)
	t.Chdir(second)

	for _, tt := range []struct {
		name, path string
		code       int
	}{
		{"here", here, 0},
		{"both", both, 0}, // the first one can't be run
		{"./here", "./here", 0},
		{here, here, 0},
		{"plain", "", exitNotExecutable},
		{filepath.Join(first, "plain"), "", exitNotExecutable},
		{filepath.Join(first, "folder"), "", exitNotExecutable},
		{"folder", "", exitNotFound},
		{"nowhere", "", exitNotFound},
		{"./nowhere", "", exitNotFound},
		{filepath.Join(here, "below"), "", exitNotExecutable}, // as the shell: not a directory
		{"", "", exitNotFound},
	} {
		path, err := lookCommand(tt.name)
		code := 0
		var exit *exitError
		if errors.As(err, &exit) {
			code = exit.code
		}
		if path != tt.path || code != tt.code {
			t.Errorf("lookCommand(%q) = %q, %v (code %d); want %q, code %d", tt.name, path, err, code, tt.path, tt.code)
		}
	}

	t.Setenv("PATH", "")
	if path, err := lookCommand("here"); err == nil && path != "./here" && path != "here" {
		t.Errorf("with an empty PATH: %q, %v", path, err)
	}
	t.Setenv("PATH", ".")
	if path, err := lookCommand("here"); err != nil || filepath.Base(path) != "here" {
		t.Errorf("with . in PATH: %q, %v", path, err)
	}
}
