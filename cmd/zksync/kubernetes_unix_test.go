//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// podSpec is what the manifests say of a pod, as far as it concerns the command.
type podSpec struct {
	Grace      int `yaml:"terminationGracePeriodSeconds"`
	Containers []struct {
		Command, Args []string
		Env           []struct {
			Name, Value string
		}
	}
}

// pods returns the pods of the manifests.
func pods(t *testing.T, file string) (all []podSpec) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := yaml.NewDecoder(f); ; {
		type template struct{ Spec podSpec }
		var m struct {
			Spec struct {
				Template    template
				JobTemplate struct{ Spec struct{ Template template } } `yaml:"jobTemplate"`
			}
		}
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if pod := m.Spec.Template.Spec; len(pod.Containers) > 0 {
			all = append(all, pod)
		} else {
			all = append(all, m.Spec.JobTemplate.Spec.Template.Spec)
		}
	}
}

// The manifests run as they are: the programs work under their locks with the names of
// their pods, and SIGTERM ends them within the grace period. Only the file of the program
// and the servers are others here.
func TestKubernetes(t *testing.T) {
	beside(t)
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntrap 'exit 0' TERM; echo node $ZKSYNC_NODE; "+proctest.Loop+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	all := pods(t, "../../docs/kubernetes.yaml")
	if len(all) != 2 {
		t.Fatalf("%d pods", len(all))
	}
	for _, pod := range all {
		c := pod.Containers[0]
		args := strings.Split(strings.ReplaceAll(strings.Join(c.Args, "\n"), "$(POD_NAME)", "pod-7"), "\n")
		for i, arg := range args {
			if arg != "--grace" {
				continue
			}
			if grace, err := time.ParseDuration(args[i+1]); err != nil || grace+5*time.Second > time.Duration(pod.Grace)*time.Second {
				t.Errorf("%v, %v of the pod's %d s", err, grace, pod.Grace)
			}
		}
		args[len(args)-1] = program
		p := proctest.Prepare(t, roleCommand, args...)
		for _, e := range c.Env {
			if e.Value != "" { // without it the name of the pod, which args has
				p.Env = append(p.Env, e.Name+"="+zookeeper(t).addr)
			}
		}
		p.Start()
		data, _, err := client(t).Get(p.Out.Await(t, "node "))
		if err != nil || !strings.Contains(string(data), `"id":"pod-7"`) || c.Command[0] != "/zksync" {
			t.Errorf("%v: the node has %q, %v", args, data, err)
		}
		p.Signal(syscall.SIGTERM)
		p.WantCode(0)
	}
}
