package ensemble_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

func TestNoInstallation(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(t *testing.T)
		want []string
	}{
		{"NoJava", func(t *testing.T) {
			t.Setenv("JAVA_HOME", "/nowhere")
			t.Setenv("PATH", "")
		}, []string{"Java not found", `JAVA_HOME="/nowhere"`, `PATH=""`, "apt-get install -y zookeeper"}},
		{"NoRelease", func(t *testing.T) {
			if _, err := ensemble.Find(); err != nil {
				fakeJava(t)
			}
			home := t.TempDir()
			t.Setenv("ZOOKEEPER_HOME", home)
		}, []string{"ZooKeeper not found", "ZOOKEEPER_HOME=", "apt-get install -y zookeeper"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.set(t)
			_, err := ensemble.Find()
			_, err2 := ensemble.New(t.TempDir(), 1)
			for _, err := range []error{err, err2} {
				if !errors.Is(err, ensemble.ErrNoZooKeeper) {
					t.Fatalf("error %v", err)
				}
				for _, want := range test.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q has no %q", err, want)
					}
				}
			}
			t.Setenv("ZKSYNC_REAL", "")
			if r := record(func(tb testing.TB) { ensemble.Run(tb, 1) }); r.failed != "" ||
				!strings.Contains(r.skipped, "NOT TESTED") || strings.Contains(r.skipped, "\n") {
				t.Errorf("Run: skipped %q, failed %q", r.skipped, r.failed)
			}
			t.Setenv("ZKSYNC_REAL", "required")
			if r := record(func(tb testing.TB) { ensemble.Run(tb, 1) }); r.skipped != "" ||
				!strings.Contains(r.failed, "not found") {
				t.Errorf("Run, required: skipped %q, failed %q", r.skipped, r.failed)
			}
		})
	}
}

// fakeJava puts a command called java into the PATH, for machines without one.
func fakeJava(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "java"), []byte("#!/bin/sh\n"), 0o755))
	t.Setenv("PATH", dir)
}

// recorder is a test that notes how it ended.
type recorder struct {
	testing.TB
	dirs            string
	skipped, failed string
}

func (r *recorder) Helper()         {}
func (r *recorder) TempDir() string { return r.dirs }
func (r *recorder) Cleanup(func())  {}
func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}
func (r *recorder) Fatal(args ...any) {
	r.failed = fmt.Sprint(args...)
	runtime.Goexit()
}

func record(f func(testing.TB)) *recorder {
	r := &recorder{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r
}

// An unpacked release, made of whatever jars this machine has.
func TestReleaseInZooKeeperHome(t *testing.T) {
	suite.Long(t)
	needZooKeeper(t)
	in, err := ensemble.Find()
	must(t, err)
	home := t.TempDir()
	must(t, os.Mkdir(filepath.Join(home, "lib"), 0o755))
	for _, jar := range in.ClassPath {
		name := filepath.Base(jar)
		if name == "zookeeper.jar" {
			name = "zookeeper-3.8.0.jar"
		}
		must(t, os.Symlink(jar, filepath.Join(home, "lib", name)))
	}
	t.Setenv("ZOOKEEPER_HOME", home)
	in, err = ensemble.Find()
	must(t, err)
	if in.Home != home {
		t.Errorf("found in %s, want %s", in.Home, home)
	}
	e := ensemble.Run(t, 1)
	if answer, err := e.FourLetter(0, "ruok"); err != nil || answer != "imok" {
		t.Errorf("ruok: %q, %v", answer, err)
	}
}
