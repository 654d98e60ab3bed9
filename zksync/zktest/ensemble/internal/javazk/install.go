package javazk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoZooKeeper is wrapped by the error of [Find] if Java or ZooKeeper is not on
// this machine.
var ErrNoZooKeeper = errors.New("ensemble: no ZooKeeper on this machine")

const installHint = "install both with \"apt-get install -y zookeeper\" (Debian, Ubuntu), " +
	"or unpack a release of Apache ZooKeeper and set ZOOKEEPER_HOME to it"

// debianJars is where Debian's packages put jars.
const debianJars = "/usr/share/java"

// Installation is a ZooKeeper that can be started. The zero value names none.
// It may be copied; copies share ClassPath. Any number of goroutines may read it.
type Installation struct {
	Java      string   // path of the java command
	ClassPath []string // jars, including the binding for the log
	Home      string   // the directory the jars came from
}

// Find looks for Java in JAVA_HOME and then in the PATH. It looks for ZooKeeper in
// ZOOKEEPER_HOME or, if that is empty, among Debian's jars. If ZOOKEEPER_HOME is set
// but contains no ZooKeeper, it returns an error and looks nowhere else. The error
// wraps [ErrNoZooKeeper].
func Find() (Installation, error) {
	java, err := findJava()
	if err != nil {
		return Installation{}, err
	}
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		return findRelease(java, home)
	}
	return findDebian(java, debianJars)
}

func notFound(what, where string) error {
	return fmt.Errorf("%w: %s not found (looked in %s); %s", ErrNoZooKeeper, what, where, installHint)
}

func findJava() (string, error) {
	home := os.Getenv("JAVA_HOME")
	if home != "" {
		if java, err := exec.LookPath(filepath.Join(home, "bin", "java")); err == nil {
			return java, nil
		}
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", notFound("Java", fmt.Sprintf("JAVA_HOME=%q and PATH=%q", home, os.Getenv("PATH")))
	}
	return java, nil
}

// findRelease returns the jars of an unpacked release: those in lib, where they are
// since 3.5.5, and those beside it, where older releases have them.
func findRelease(java, home string) (Installation, error) {
	var jars []string
	for _, pattern := range []string{filepath.Join(home, "lib", "*.jar"), filepath.Join(home, "*.jar")} {
		match, err := filepath.Glob(pattern)
		if err != nil {
			return Installation{}, fmt.Errorf("ensemble: ZOOKEEPER_HOME=%q: %w", home, err)
		}
		jars = append(jars, match...)
	}
	for _, jar := range jars {
		name := filepath.Base(jar)
		if name == "zookeeper.jar" || strings.HasPrefix(name, "zookeeper-") && !strings.HasPrefix(name, "zookeeper-jute") {
			return Installation{Java: java, ClassPath: jars, Home: home}, nil
		}
	}
	return Installation{}, notFound("ZooKeeper", fmt.Sprintf("ZOOKEEPER_HOME=%q", home))
}

// findDebian returns Debian's jar. Its manifest names all that it needs, except a
// binding for the log and two parts of Netty, which serves TLS.
func findDebian(java, dir string) (Installation, error) {
	jar := filepath.Join(dir, "zookeeper.jar")
	if _, err := os.Stat(jar); err != nil {
		return Installation{}, notFound("ZooKeeper", "ZOOKEEPER_HOME (empty) and "+jar)
	}
	in := Installation{Java: java, ClassPath: []string{jar}, Home: dir}
	for _, name := range []string{"slf4j-simple.jar", "netty-codec.jar", "netty-resolver.jar"} {
		if more := filepath.Join(dir, name); fileExists(more) {
			in.ClassPath = append(in.ClassPath, more)
		}
	}
	return in, nil
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
