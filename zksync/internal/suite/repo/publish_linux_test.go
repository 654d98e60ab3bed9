package repo_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// publish makes a module proxy of the working tree, in files, for the README's go
// get and go install. The version is the one that the command requires.
func publish(t *testing.T, proxy string) {
	t.Helper()
	version := rootVersion(t)
	publishModule(t, proxy, module, version, ".")
	publishModule(t, proxy, commandModule, version, "cmd/zksync")
}

// publishModule adds the module of one directory.
func publishModule(t *testing.T, proxy, path, version, dir string) {
	t.Helper()
	at := filepath.Join(proxy, path, "@v")
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(at, "list"), version+"\n")
	writeFile(t, filepath.Join(at, version+".info"), `{"Version":"`+version+`"}`)
	writeFile(t, filepath.Join(at, version+".mod"), string(mod))
	writeFile(t, filepath.Join(at, version+".zip"), moduleZip(t, path+"@"+version, dir))
}

// moduleZip is the archive of a module, which has a path and a version: its files
// without those of tests and of the modules nested in it.
func moduleZip(t *testing.T, name, dir string) string {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir:
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			if err == nil || strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular(), strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		w, err := z.Create(name + "/" + filepath.ToSlash(file))
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.String()
}
