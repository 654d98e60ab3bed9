package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
)

// Find returns the file that the command name stands for, as the shell finds it.
// Its error is an [exit.Error] with the code that the shell gives: 127 if there
// is no such file, 126 if there is one that can't be run.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		// If PATH names the current directory, that is the caller's choice.
		return path, nil
	case errors.Is(err, exec.ErrNotFound) && unusable(name):
		// LookPath says why a file can't be run only for a name with a slash.
		err = fs.ErrPermission
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", &exit.Error{Code: exit.NotFound, Err: fmt.Errorf("%s: command not found", name)}
	}
	var why *exec.Error
	if errors.As(err, &why) {
		err = why.Err
	}
	return "", &exit.Error{Code: exit.NotExecutable, Err: fmt.Errorf("%s: %w", name, err)}
}

// unusable reports whether a directory of PATH holds a file called name. LookPath
// has not accepted it, so it can't be run.
func unusable(name string) bool {
	if name == "" || strings.ContainsRune(name, filepath.Separator) {
		return false
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		// The shell, too, passes over a directory of that name.
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}
