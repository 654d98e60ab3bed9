//go:build unix

package foreign

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/zklocker/go-zksync/zksync/zktest/ensemble"
)

// The environment of a process in the role of a server.
const (
	javaVar  = "ZKSYNC_FOREIGN_JAVA"      // the real command
	classVar = "ZKSYNC_FOREIGN_CLASSPATH" // ZooKeeper's jars
	stageVar = "ZKSYNC_FOREIGN_STAGE"     // the socket of the test that has the servers
)

func realEnv(in ensemble.Installation) []string {
	return []string{javaVar + "=" + in.Java, classVar + "=" + strings.Join(in.ClassPath, string(os.PathListSeparator))}
}

func stageEnv(socket string) []string { return []string{stageVar + "=" + socket} }

// order is what a command asks a stage for.
type order struct {
	Config string   // path of the server's zoo.cfg
	Flags  []string // of the Java virtual machine
}

// actAsServer is the command "java" of kazoo's tests, and "zkServer.sh" of
// go-zookeeper's: a server whose configuration is the last argument.
func actAsServer() int {
	o := order{Config: os.Args[len(os.Args)-1], Flags: strings.Fields(os.Getenv("SERVER_JVMFLAGS"))}
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(arg, "-D") {
			o.Flags = append(o.Flags, arg)
		}
	}
	var err error
	if socket := os.Getenv(stageVar); socket != "" {
		err = perform(socket, o)
	} else {
		err = becomeJava(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// becomeJava turns this process into a real server, so that a signal to it is one to
// the server. The flags are for a quick start and little memory.
func becomeJava(o order) error {
	args := append([]string{"java", "-Xms32m", "-Xmx256m", "-Xss512k", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
		"-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true"}, o.Flags...)
	args = append(args, "-cp", os.Getenv(classVar), "org.apache.zookeeper.server.quorum.QuorumPeerMain", o.Config)
	runtime.LockOSThread() // what ends with the parent is the thread that becomes Java
	dieWithParent()
	return syscall.Exec(os.Getenv(javaVar), args, os.Environ())
}

// perform is a server for as long as this process lives. It returns nil after a signal
// that asks it to end.
func perform(socket string, o order) error {
	dieWithParent()
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, syscall.SIGTERM, syscall.SIGINT)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := json.NewEncoder(conn).Encode(o); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		said, err := bufio.NewReader(conn).ReadString('\n')
		if err == io.EOF && said == "" {
			err = nil
		} else if err == nil {
			err = fmt.Errorf("%s", said)
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-sigs:
	}
	// The port is closed when the process is gone.
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		return err
	}
	return <-ended
}
