package repo_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zklocker/go-zksync/zksync/internal/suite"
	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// TestReadmeCommands runs the README's commands in one shell, as a reader
// would, and compares what they print, numbers and the width of columns aside.
// Four things differ from a reader's machine: the port is one that is free here;
// the module comes from the working tree; apt-get installs nothing, but makes
// sure that the package is there; and docker is the one below.
func TestReadmeCommands(t *testing.T) {
	suite.Long(t)
	in, err := ensemble.Find()
	suite.NeedReal(t, err)
	if in.Home != "/usr/share/java" {
		t.Skip("the README's server is Debian's, and ZOOKEEPER_HOME names another")
	}
	_, blocks := readme(t)
	script, wants := readmeScript(t, blocks)
	port := freePort(t)
	script = strings.ReplaceAll(script, "2181", port)

	out := runScript(t, script)
	outputs := make(map[string]string)
	for _, part := range strings.Split(out, "==> ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		outputs[name] = text
	}
	for name, want := range wants {
		got, ran := outputs[name]
		if !ran {
			t.Errorf("README.md:%s did not run", name)
		} else if isPicture(want) {
			if !strings.Contains(sketch(got), sketch(want)) {
				t.Errorf("README.md:%s draws\n%s\nand the README shows\n%s", name, got, want)
			}
		} else if essence(got) != essence(want) {
			t.Errorf("README.md:%s prints\n%s\nand the README says\n%s", name, got, want)
		}
	}
	if _, found := outputs["latest"]; !found {
		t.Errorf("the README does not install the command with: %s", latest)
	}
	help := outputs["help"]
	for _, b := range blocks {
		if b.isHelp() && !strings.Contains(help, b.text) {
			t.Errorf("README.md:%d is not in zksync run --help:\n%s", b.line, help)
		}
	}
}

// essence is what all runs of a command print: no numbers, no name of a host, and no
// spaces that depend on them.
func essence(text string) string {
	if host, err := os.Hostname(); err == nil {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(host)+`\b`).ReplaceAllString(text, "db1")
	}
	for _, r := range [][2]string{
		{`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "GUID"}, {`\b0x[0-9a-f]+`, "ID"}, {`\b\d+(s|m\d\ds)\b`, "AGE"}, {`\d+(\.\d+)*`, "N"}, {` +`, " "},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	return text
}

// docker builds by the command of the Dockerfile, but on this machine. What it builds
// runs in a directory with nothing else, as the user of the Dockerfile, where the test
// may do that.
const docker = `#!/bin/bash
set -euo pipefail
image=$HOME/image
case "$*" in
"build -t zksync .")
	mkdir "$image"
	command=$(sed -n 's/^RUN //p' Dockerfile)
	TARGETOS=linux TARGETARCH= bash -c "${command/-o \/zksync/-o $image/zksync}"
	;;
"run --rm --network host zksync "*)
	user=$(sed -n 's/^USER //p' Dockerfile)
	[ "$(sed -n 's/^ENTRYPOINT //p' Dockerfile)" = '["/zksync"]' ]
	if ((EUID == 0)); then
		exec chroot --userspec="$user" "$image" /zksync "${@:6}"
	fi
	exec "$image/zksync" "${@:6}"
	;;
*)
	echo "docker $*: not known here" >&2
	exit 1
	;;
esac
`

// isPicture reports whether text is the picture at the end of what the demo
// prints. No two runs draw the same.
func isPicture(text string) bool { return strings.HasPrefix(text, "          0 s ") }

// sketch is what all runs' pictures have in common.
func sketch(text string) string {
	drawn := regexp.MustCompile(`[ .#~X!\d]+`)
	return strings.ReplaceAll(drawn.ReplaceAllString(text, " "), "holds\n", "hold\n")
}

// latest installs the command without a clone.
const latest = "go install " + commandModule + "@latest"

// readmeScript returns the commands, each block with a line before it that says
// which it is, and what those blocks should print that are followed by output.
func readmeScript(t *testing.T, blocks []block) (script string, wants map[string]string) {
	ci, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	wants = make(map[string]string)
	for i, bl := range blocks {
		if bl.lang != "bash" {
			continue
		}
		name := fmt.Sprint(bl.line)
		switch {
		case strings.HasPrefix(bl.text, "go test "):
			// This is what runs just now, or what the CI runs.
			if !strings.Contains(strings.ReplaceAll(string(ci), " -race", ""), strings.TrimSpace(bl.text)) {
				t.Errorf("README.md:%d is not what the CI runs: %s", bl.line, bl.text)
			}
			continue
		case strings.HasPrefix(bl.text, "go get "):
			// In a module of the reader's.
			bl.text = "(mkdir \"$HOME/app\"; cd \"$HOME/app\"; go mod init example.com/app\n" + bl.text + "grep -q zklocker go.mod)\n"
		}
		fmt.Fprintf(&b, "echo '==> %s'\n%s", name, bl.text)
		if i+1 < len(blocks) && blocks[i+1].lang == "text" && !blocks[i+1].isHelp() {
			wants[name] = blocks[i+1].text
		}
	}
	if text, _ := readme(t); strings.Contains(text, "`"+latest+"`") {
		b.WriteString("echo '==> latest'\n(cd; GOBIN=\"$HOME/latest\" " + latest + "; latest/zksync run --help)\n")
	}
	b.WriteString("echo '==> help'\nzksync run --help\n")
	return b.String(), wants
}

// runScript runs a script in the module's root and returns what it prints.
// Whatever it leaves running dies with its process group, at the latest when
// this process does: a reader of the pipe that only we hold sees to that.
func runScript(t *testing.T, script string) string {
	t.Helper()
	home := t.TempDir()
	bin := filepath.Join(home, "bin")
	proxy := filepath.Join(home, "proxy")
	writeFile(t, filepath.Join(bin, "apt-get"), "#!/bin/sh\n[ \"$*\" = 'install -y zookeeper' ] && [ -e /usr/share/java/zookeeper.jar ]\n")
	writeFile(t, filepath.Join(bin, "docker"), docker)
	publish(t, proxy)
	env := goEnv(t, "GOMODCACHE", "GOCACHE", "GOFLAGS")

	const guard = "exec 3<&0 </dev/null\n{ cat <&3 >/dev/null; kill -KILL 0; } &\nexec 3<&-\nset -euo pipefail\n"
	cmd := exec.Command("bash", "-c", guard+script)
	cmd.Env = append(os.Environ(),
		"HOME="+home, "TMPDIR="+home, "GOBIN="+bin, "PATH="+bin+":"+os.Getenv("PATH"),
		"GOCACHE="+env["GOCACHE"], "GOMODCACHE="+filepath.Join(home, "mod"),
		// Nothing from the network: what the tests were built from is enough.
		"GOPROXY=file://"+proxy+",file://"+env["GOMODCACHE"]+"/cache/download", "GOSUMDB=off",
		"GOFLAGS="+env["GOFLAGS"]+" -modcacherw -buildvcs=false", "GOWORK=", "GOTOOLCHAIN=local",
		"ZKSYNC_SERVERS=", "ZKSYNC_AUTH=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	defer held.Close()
	cmd.Stdin = stdin
	// Files, not pipes: the server has them open when the script has ended.
	stdout, stderr := createFile(t, filepath.Join(home, "stdout")), createFile(t, filepath.Join(home, "stderr"))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-time.After(8 * time.Minute):
		err = errors.New("still running after 8 minutes")
	}
	held.Close()
	suite.Eventually(t, "the script's processes are gone", func() bool {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		return errors.Is(syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH)
	})
	out, rerr := os.ReadFile(stdout.Name())
	if rerr != nil {
		t.Fatal(rerr)
	}
	if err != nil {
		messages, _ := os.ReadFile(stderr.Name())
		t.Fatalf("the README's commands: %v\n%s\n%s", err, out, messages)
	}
	return string(out)
}

func goEnv(t *testing.T, names ...string) map[string]string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	env := make(map[string]string)
	for i, line := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		env[names[i]] = line
	}
	return env
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func createFile(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// freePort is a port that nobody has at this moment.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
