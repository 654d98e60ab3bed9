//go:build unix

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/zklocker/go-zksync/cmd/zksync/internal/exit"
	"github.com/zklocker/go-zksync/cmd/zksync/internal/proctest"
)

// received is a collector that keeps the names of the spans that it gets.
type received struct {
	collector.UnimplementedTraceServiceServer

	mu    sync.Mutex
	names []string
}

func (r *received) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range req.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				r.names = append(r.names, span.Name)
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// ServeHTTP is Export over HTTP.
func (r *received) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var traces collector.ExportTraceServiceRequest
	if err != nil || req.URL.Path != "/v1/traces" || req.Header.Get("X-Key") != "secret" || proto.Unmarshal(body, &traces) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = r.Export(req.Context(), &traces)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// want checks which spans have come.
func (r *received) want(t *testing.T, names ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.names)
	if !slices.Equal(r.names, names) {
		t.Errorf("exported %q, want %q", r.names, names)
	}
}

func traceRun(t *testing.T, env ...string) *proctest.Process {
	t.Helper()
	p := zksyncRun(t, "--trace", lockPath(t), "sh", "-c", "exit 3")
	p.Env = append(p.Env, env...)
	return p.Start()
}

// The spans go to the collector that the standard variables name, and to stderr as without
// them.
func TestRunTraceExports(t *testing.T) {
	beside(t)
	all := []string{"zksync acquire", "zksync hold", "zksync release"}
	t.Run("http", func(t *testing.T) {
		var got received
		srv := httptest.NewServer(&got)
		defer srv.Close()
		p := traceRun(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+srv.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=secret")
		p.WantCode(3)
		got.want(t, all...)
		if spans, rest := printed(t, p.Err.String()); len(spans) != 3 || rest != "" {
			t.Errorf("%d spans, and %q", len(spans), rest)
		}
	})
	t.Run("grpc", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var got received
		srv := grpc.NewServer()
		collector.RegisterTraceServiceServer(srv, &got)
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		defer func() { srv.Stop(); <-served }()
		traceRun(t, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://"+l.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL=grpc").WantCode(3)
		got.want(t, all...)
	})
	t.Run("elect", func(t *testing.T) {
		var got received
		srv := httptest.NewServer(&got)
		defer srv.Close()
		p := zksyncElect(t, "--trace", lockPath(t), "sh", "-c", "exit 3")
		p.Env = append(p.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+srv.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=secret")
		p.Start().WantCode(3)
		got.want(t, all...)
	})
	for _, off := range []string{"OTEL_TRACES_EXPORTER=none", "OTEL_SDK_DISABLED=true"} {
		t.Run(off, func(t *testing.T) {
			var got received
			srv := httptest.NewServer(&got)
			defer srv.Close()
			traceRun(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+srv.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=secret", off).WantCode(3)
			got.want(t)
		})
	}
}

// A collector that is out of reach costs neither the exit code nor the lock.
func TestRunTraceExportFails(t *testing.T) {
	beside(t)
	p := traceRun(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
	p.WantCode(3)
	p.Err.Await(t, "zksync: --trace: ")
	if n := queueLen(t, client(t), lockPath(t)); n != 0 {
		t.Error("the lock was not given back")
	}
	p = traceRun(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json")
	p.WantCode(exit.Usage)
	if said := p.Err.String(); !strings.Contains(said, `"http/json" is neither http/protobuf nor grpc`) {
		t.Errorf("stderr %q", said)
	}
}
