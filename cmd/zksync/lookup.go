package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lookCommand finds the file that name stands for, as the shell does. Its
// error carries the shell's exit code: 127 when there is no such file, 126
// when there is one that can't be run.
func lookCommand(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		// A PATH that names the current directory is the caller's choice.
		return path, nil
	case errors.Is(err, exec.ErrNotFound) && unusable(name):
		// LookPath tells only of a name with a slash why it can't be run.
		err = fs.ErrPermission
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", &exitError{exitNotFound, fmt.Errorf("%s: command not found", name)}
	}
	var why *exec.Error
	if errors.As(err, &why) {
		err = why.Err
	}
	return "", &exitError{exitNotExecutable, fmt.Errorf("%s: %w", name, err)}
}

// unusable reports whether PATH leads to a file called name, which is then one
// that can't be run.
func unusable(name string) bool {
	if name == "" || strings.ContainsRune(name, filepath.Separator) {
		return false
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		// A directory of that name is passed over, as by the shell.
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}
