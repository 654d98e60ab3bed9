package sdktest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const tracingDir = "../../../../tracing"

// dashboard is what the tests look at in tracing/dashboard.json.
type dashboard struct {
	Panels []struct {
		ID          int
		Type        string
		Title       string
		Description string
		GridPos     struct{ X, Y, W, H int }
		FieldConfig struct {
			Defaults struct {
				Thresholds struct{ Steps []struct{ Value *float64 } }
			}
		}
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Name string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tracingDir, "dashboard.json"))
	ok(t, err)
	ok(t, json.Unmarshal(text, &d))
	return d
}

// Each panel has a place of its own and, unless it only arranges others, queries with
// variables that exist.
func TestDashboardPanels(t *testing.T) {
	d := readDashboard(t)
	known := map[string]bool{"__rate_interval": true, "__range": true}
	for _, v := range d.Templating.List {
		known[v.Name] = true
	}
	ids, cells := make(map[int]string), make(map[[2]int]string)
	for _, p := range d.Panels {
		if other := ids[p.ID]; other != "" || p.ID == 0 {
			t.Errorf("%s has the id %d, as %s", p.Title, p.ID, other)
		}
		ids[p.ID] = p.Title
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s covers %s", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" || p.Type == "alertlist" {
			continue
		}
		if p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("%s has no description or no query", p.Title)
		}
		for _, target := range p.Targets {
			for _, m := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !known[m[1]] {
					t.Errorf("%s: there is no variable %s", p.Title, m[1])
				}
			}
			if strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") || strings.Count(target.Expr, "{") != strings.Count(target.Expr, "}") {
				t.Errorf("%s: %s", p.Title, target.Expr)
			}
		}
	}
}

// Each alert with a limit has a panel that names it and draws the limit, and each alert
// is named.
func TestDashboardShowsTheAlerts(t *testing.T) {
	alerts, err := os.ReadFile(filepath.Join(tracingDir, "alerts.yml"))
	ok(t, err)
	rules := strings.Split(string(alerts), "- alert: ")[1:]
	if len(rules) == 0 {
		t.Fatal("no alerts")
	}
	limit := regexp.MustCompile(`> ([1-9][0-9.]*|0\.[0-9]+)\n`)
	for _, rule := range rules {
		name, rest, _ := strings.Cut(rule, "\n")
		shown, drawn := false, false
		m := limit.FindStringSubmatch(rest)
		for _, p := range readDashboard(t).Panels {
			if !strings.Contains(p.Description, name) {
				continue
			}
			shown = true
			for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
				drawn = drawn || m != nil && step.Value != nil && strconv.FormatFloat(*step.Value, 'f', -1, 64) == m[1]
			}
		}
		if !shown || m != nil && !drawn {
			t.Errorf("alert %s: shown %v, its limit %v drawn %v", name, shown, m, drawn)
		}
	}
}

// Each metric of the README's table is on the dashboard.
func TestDashboardHasAllMetrics(t *testing.T) {
	readme, err := os.ReadFile("../../../../README.md")
	ok(t, err)
	text, err := os.ReadFile(filepath.Join(tracingDir, "dashboard.json"))
	ok(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(zksync_\\w+)` \\|").FindAllStringSubmatch(string(readme), -1)
	if len(rows) < 10 {
		t.Fatalf("%d metrics in the README", len(rows))
	}
	for _, m := range rows {
		if !strings.Contains(string(text), m[1]) {
			t.Errorf("%s is not on the dashboard", m[1])
		}
	}
}

// The collector's pipelines consist of what its configuration defines, and of all of it.
func TestCollectorPipelines(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(tracingDir, "collector.yaml"))
	ok(t, err)
	defined := make(map[string]bool)
	section := ""
	for line := range strings.Lines(string(text)) {
		if m := regexp.MustCompile(`^(\w+):$`).FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			section = m[1]
		} else if m := regexp.MustCompile(`^  ([\w/]+):`).FindStringSubmatch(line); m != nil && section != "service" {
			defined[section+" "+m[1]] = true
		}
	}
	used := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^      (\w+): \[(.*)\]$`).FindAllStringSubmatch(string(text), -1) {
		for name := range strings.SplitSeq(m[2], ", ") {
			used[m[1]+" "+name] = true
			if !defined[m[1]+" "+name] {
				t.Errorf("a pipeline has %s, which is not defined", m[1]+" "+name)
			}
		}
	}
	if len(used) != len(defined) || len(used) < 5 {
		t.Errorf("used %v, defined %v", used, defined)
	}
}
