package tracing_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A program that imports the package gets OpenTelemetry's API, and no SDK. A test at the
// module's root checks that package zksync needs neither.
func TestDependencies(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{.Module.Path}}{{end}}", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	modules := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		pkg, mod, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(pkg, "/sdk") || strings.Contains(pkg, "/exporters") || strings.Contains(pkg, "/zktest") {
			t.Errorf("tracing depends on %s", pkg)
		}
		if pkg != "" {
			modules[mod] = true
		}
	}
	for _, want := range []string{
		"github.com/zklocker/go-zksync", "github.com/go-zookeeper/zk", "golang.org/x/sync",
		"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/metric",
		"github.com/go-logr/logr", "github.com/go-logr/stdr", // of otel's own
	} {
		if !modules[want] {
			t.Errorf("tracing does not depend on %s:\n%s", want, out)
		}
		delete(modules, want)
	}
	for mod := range modules {
		t.Errorf("tracing depends on module %s", mod)
	}
}
