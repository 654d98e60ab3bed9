package zktest_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zklocker/go-zksync/zksync"
	"github.com/zklocker/go-zksync/zksync/zktest"
)

// The package's comment shows these two functions, each with its test.

func nightly(ctx context.Context, mu *zksync.Mutex, work func(context.Context) error) error {
	return mu.Do(ctx, func(ctx context.Context, _ *zksync.Hold) error { return work(ctx) })
}

func TestNightlyStopsWithItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		s, err := zksync.Dial(t.Context(), []string{"127.0.0.1"}, zksync.WithDialContext(srv.DialContext))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		err = nightly(t.Context(), zksync.NewMutex(s, "/nightly"), func(ctx context.Context) error {
			time.Sleep(3 * time.Hour) // the lock is held, and costs no time
			srv.Expire(s.ID())
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, zksync.ErrLost) {
			t.Errorf("error %v, want ErrLost", err)
		}
	})
}

func register(conn *zk.Conn, events <-chan zk.Event) {
	for range events { // whatever has happened, the node is to be there
		conn.Create("/here", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	}
}

func TestRegisterSurvivesExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Run(t)
		conn, events, err := zk.Connect([]string{"127.0.0.1"}, 6*time.Second, zk.WithDialer(srv.Dial))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go register(conn, events)
		time.Sleep(time.Minute)
		srv.Expire(conn.SessionID())
		time.Sleep(time.Minute)
		if _, st, ok := srv.Get("/here"); !ok || st.EphemeralOwner != conn.SessionID() {
			t.Error("the session that stands has no node")
		}
	})
}

// What the package's comment shows is what is tested here.
func TestDocShowsTheseTests(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	must(t, err)
	var shown strings.Builder // the lines of code
	for line := range strings.Lines(string(text)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			shown.WriteString(code)
		}
	}
	const name = "server_example_test.go"
	src, err := os.ReadFile(name)
	must(t, err)
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	must(t, err)
	wanted := map[string]bool{"nightly": true, "TestNightlyStopsWithItsLock": true, "register": true, "TestRegisterSurvivesExpiry": true}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !wanted[fn.Name.Name] {
			continue
		}
		delete(wanted, fn.Name.Name)
		code := string(src[fset.Position(fn.Pos()).Offset:fset.Position(fn.End()).Offset])
		if !strings.Contains(shown.String(), code+"\n") {
			t.Errorf("the package's comment does not show\n%s", code)
		}
	}
	if len(wanted) > 0 {
		t.Errorf("not found: %v", wanted)
	}
}

// A session ends while its lock is held: the holder gets an event at once.
func ExampleServer_Expire() {
	srv := zktest.New()
	defer srv.Close()
	ctx := context.Background()
	s, err := zksync.Dial(ctx, []string{"127.0.0.1"}, zksync.WithDialContext(srv.DialContext))
	if err != nil {
		panic(err)
	}
	defer s.Close()
	h, err := zksync.NewMutex(s, "/nightly").Hold(ctx)
	if err != nil {
		panic(err)
	}
	held := h.Context(ctx)
	srv.Expire(s.ID())
	<-held.Done()
	fmt.Println(errors.Is(context.Cause(held), zksync.ErrLost))
	fmt.Println(len(srv.Children("/nightly")), "nodes")
	// Output:
	// true
	// 0 nodes
}

func ExampleServer() {
	s := zktest.New()
	defer s.Close()
	conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 6*time.Second, zk.WithDialer(s.Dial), zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/jobs", []byte("open"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		panic(err)
	}
	path, err := conn.Create("/jobs/job-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		panic(err)
	}
	fmt.Println(path)

	_, _, gone, err := conn.ExistsW(path)
	if err != nil {
		panic(err)
	}
	s.Expire(conn.SessionID())
	<-gone
	fmt.Print(s.Tree())
	fmt.Println(s.Requests()["create"], "creates")
	// Output:
	// /jobs/job-0000000000
	// /jobs "open"
	// 2 creates
}

// The answer to a create is lost: the client does not know that it was carried
// out.
func ExampleServer_DropReply() {
	s := zktest.New()
	defer s.Close()
	conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 6*time.Second, zk.WithDialer(s.Dial), zk.WithLogInfo(false))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	s.DropReply(func(r zktest.Request) bool { return r.Op == "create" })
	_, err = conn.Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println(err)
	fmt.Print(s.Tree())
	// Output:
	// zk: connection closed
	// /a
}
