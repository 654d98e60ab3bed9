//go:build unix

package foreign

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// TestCurator runs a program with checks of Curator's recipes.
func TestCurator(t *testing.T) {
	in := needReal(t)
	classPath := compileCurator(t, in)
	var mu sync.Mutex
	results := map[string]outcomes{}
	var wg sync.WaitGroup
	for _, kind := range chosen() {
		addr := curatorServer(t, kind)
		wg.Go(func() {
			all := runCurator(t, in, classPath, addr)
			mu.Lock()
			defer mu.Unlock()
			results[kind] = all
		})
	}
	wg.Wait()
	compare(t, "curator", results)
}

// curatorServer starts a server, and returns its address.
func curatorServer(t *testing.T, kind string) string {
	t.Helper()
	if kind == "real" {
		return ensemble.Run(t, 1).Addr(0)
	}
	return zktest.Run(t, zktest.WithTick(250*time.Millisecond), zktest.WithSessionLimits(500*time.Millisecond, time.Minute)).Addr()
}

// compileCurator compiles the program, and returns its class path.
func compileCurator(t *testing.T, in ensemble.Installation) string {
	t.Helper()
	const packages = "libcurator-recipes-java and default-jre-headless"
	var jars []string
	for _, name := range []string{"curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute",
		"guava", "failureaccess", "slf4j-api"} {
		jars = append(jars, filepath.Join("/usr/share/java", name+".jar"))
	}
	if _, err := os.Stat(jars[0]); err != nil {
		missing(t, "Curator", packages)
	}
	classes := t.TempDir()
	classPath := strings.Join(append(jars, classes), string(os.PathListSeparator))
	// The compiler is part of Debian's run-time environment, only without a command of
	// its own.
	sources, err := filepath.Glob(filepath.Join("testdata", "curator", "*.java"))
	suite.Must(t, err)
	out, err := command(t, nil, "", in.Java, append([]string{"-XX:TieredStopAtLevel=1", "--module", "jdk.compiler/com.sun.tools.javac.Main",
		"-cp", classPath, "-d", classes}, sources...)...).CombinedOutput()
	if err != nil && strings.Contains(string(out), "jdk.compiler not found") {
		missing(t, "Java compiler", "default-jdk-headless")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return classPath
}

// runCurator runs the checks on a server, and those that fail once more.
func runCurator(t *testing.T, in ensemble.Installation, classPath, addr string) outcomes {
	all := make(outcomes)
	var again []string
	for range tries {
		var errs bytes.Buffer
		cmd := command(t, nil, "", in.Java, append([]string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-XX:-UsePerfData",
			"-cp", classPath, "Recipes", addr, *match}, again...)...)
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("Curator's checks on %s: %v\n%s", addr, err, indent(errs.String()))
		}
		for line := range strings.Lines(string(out)) {
			verdict, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			name, why, _ := strings.Cut(rest, " ")
			all[name] = outcome{passed: verdict == "pass", said: why}
		}
		again = nil
		for name, o := range all {
			if !o.passed {
				again = append(again, name)
				t.Logf("%s fails on %s: %s", name, addr, o.said)
			}
		}
		if len(again) == 0 {
			break
		}
	}
	return all
}
