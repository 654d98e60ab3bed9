package javazk

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// touch makes empty files below a new directory.
func touch(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, nil, 0o755))
	}
	return dir
}

func TestFindRelease(t *testing.T) {
	for _, test := range []struct {
		name  string
		files []string
		want  []string
	}{
		{"since 3.5.5", []string{"lib/zookeeper-3.9.3.jar", "lib/zookeeper-jute-3.9.3.jar", "lib/netty.jar"},
			[]string{"lib/netty.jar", "lib/zookeeper-3.9.3.jar", "lib/zookeeper-jute-3.9.3.jar"}},
		{"before", []string{"zookeeper-3.5.4.jar", "lib/slf4j.jar"}, []string{"lib/slf4j.jar", "zookeeper-3.5.4.jar"}},
		{"without a version", []string{"lib/zookeeper.jar"}, []string{"lib/zookeeper.jar"}},
		{"a part of it", []string{"lib/zookeeper-jute-3.9.3.jar"}, nil},
		{"nothing", nil, nil},
	} {
		home := touch(t, test.files...)
		in, err := findRelease("java", home)
		if test.want == nil {
			if !errors.Is(err, ErrNoZooKeeper) {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		for i := range test.want {
			test.want[i] = filepath.Join(home, filepath.FromSlash(test.want[i]))
		}
		if err != nil || !slices.Equal(in.ClassPath, test.want) || in.Home != home || in.Java != "java" {
			t.Errorf("%s: %+v, %v", test.name, in, err)
		}
	}
	if _, err := findRelease("java", "["); err == nil || errors.Is(err, ErrNoZooKeeper) {
		t.Errorf("a path that is no pattern: %v", err)
	}
}

func TestFindDebian(t *testing.T) {
	dir := touch(t, "zookeeper.jar", "slf4j-simple.jar", "netty-codec.jar", "another.jar")
	in, err := findDebian("java", dir)
	want := []string{filepath.Join(dir, "zookeeper.jar"), filepath.Join(dir, "slf4j-simple.jar"), filepath.Join(dir, "netty-codec.jar")}
	if err != nil || !slices.Equal(in.ClassPath, want) {
		t.Errorf("%+v, %v, want %q", in, err, want)
	}
	if _, err := findDebian("java", touch(t, "slf4j-simple.jar")); !errors.Is(err, ErrNoZooKeeper) {
		t.Errorf("without ZooKeeper: %v", err)
	}
}

func TestFindJava(t *testing.T) {
	dir := touch(t, "bin/java")
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	t.Setenv("JAVA_HOME", "/nowhere")
	if java, err := findJava(); err != nil || java != filepath.Join(dir, "bin", "java") {
		t.Errorf("in the PATH: %q, %v", java, err)
	}
	home := touch(t, "bin/java")
	t.Setenv("JAVA_HOME", home)
	if java, err := findJava(); err != nil || java != filepath.Join(home, "bin", "java") {
		t.Errorf("in JAVA_HOME: %q, %v", java, err)
	}
	release := touch(t, "lib/zookeeper.jar")
	t.Setenv("ZOOKEEPER_HOME", release)
	if in, err := Find(); err != nil || in.Home != release {
		t.Errorf("found %+v, %v", in, err)
	}
}
