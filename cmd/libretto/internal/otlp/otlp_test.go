package otlp

import (
	"compress/gzip"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"
)

// getenv returns what reads variables, each after OTEL_ .
func getenv(variables map[string]string) func(string) string {
	return func(name string) string { return variables[strings.TrimPrefix(name, "OTEL_")] }
}

// TestConfig checks what the variables mean, and what is said of wrong ones, without their values.
func TestConfig(t *testing.T) {
	type variables = map[string]string
	for name, c := range map[string]struct {
		given    variables
		endpoint string
		header   http.Header
		timeout  time.Duration
		wrong    string
	}{
		"the endpoint of all signals has a path for each": {given: variables{"EXPORTER_OTLP_ENDPOINT": "http://c:4318/x"}, endpoint: "http://c:4318/x/v1/traces"},
		"that of traces is used as it is": {
			given:    variables{"EXPORTER_OTLP_ENDPOINT": "http://c", "EXPORTER_OTLP_TRACES_ENDPOINT": "https://d/y"},
			endpoint: "https://d/y",
		},
		"what is for traces goes before what is for all": {
			given: variables{
				"EXPORTER_OTLP_ENDPOINT": "http://c", "EXPORTER_OTLP_HEADERS": "a=1", "EXPORTER_OTLP_TRACES_HEADERS": "authorization=Basic%20eDp5, x = 2,",
				"EXPORTER_OTLP_TIMEOUT": "1", "EXPORTER_OTLP_TRACES_TIMEOUT": "2000",
			},
			endpoint: "http://c/v1/traces", header: http.Header{"Authorization": {"Basic eDp5"}, "X": {"2"}}, timeout: 2 * time.Second,
		},
		"no URL":           {given: variables{"EXPORTER_OTLP_ENDPOINT": "swordfish:4317"}, wrong: "ENDPOINT must be a URL"},
		"gRPC":             {given: variables{"EXPORTER_OTLP_ENDPOINT": "http://c:4317", "EXPORTER_OTLP_PROTOCOL": "grpc"}, wrong: "PROTOCOL: only http/protobuf"},
		"another exporter": {given: variables{"EXPORTER_OTLP_ENDPOINT": "http://c", "TRACES_EXPORTER": "zipkin"}, wrong: "OTEL_TRACES_EXPORTER must be"},
		"headers":          {given: variables{"EXPORTER_OTLP_ENDPOINT": "http://c", "EXPORTER_OTLP_HEADERS": "swordfish"}, wrong: "HEADERS must be"},
		"a timeout":        {given: variables{"EXPORTER_OTLP_ENDPOINT": "http://c", "EXPORTER_OTLP_TIMEOUT": "10s"}, wrong: "TIMEOUT must be"},
		"compression":      {given: variables{"EXPORTER_OTLP_ENDPOINT": "http://c", "EXPORTER_OTLP_COMPRESSION": "zstd"}, wrong: "COMPRESSION must be"},
		"a certificate":    {given: variables{"EXPORTER_OTLP_ENDPOINT": "http://c", "EXPORTER_OTLP_CERTIFICATE": os.DevNull}, wrong: "CERTIFICATE must be"},
		"a key alone":      {given: variables{"EXPORTER_OTLP_ENDPOINT": "http://c", "EXPORTER_OTLP_CLIENT_KEY": os.DevNull}, wrong: "CLIENT_KEY: "},
		"a number":         {given: variables{"EXPORTER_OTLP_ENDPOINT": "http://c", "BSP_MAX_QUEUE_SIZE": "many"}, wrong: "OTEL_BSP_MAX_QUEUE_SIZE must be"},
	} {
		got, err := environment(getenv(c.given)).config()
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "swordfish") {
				t.Errorf("%s: error %v, want %q", name, err, c.wrong)
			}
			continue
		}
		if c.timeout == 0 {
			c.timeout, c.header = defaultTimeout, http.Header{}
		}
		if err != nil || got.endpoint.String() != c.endpoint || got.timeout != c.timeout || !cmp.Equal(got.header, c.header) {
			t.Errorf("%s: %s, %v, timeout %s, error %v", name, got.endpoint, got.header, got.timeout, err)
		}
	}
}

// TestOff checks when nothing is traced.
func TestOff(t *testing.T) {
	for _, given := range []map[string]string{
		{}, {"EXPORTER_OTLP_ENDPOINT": "http://c", "SDK_DISABLED": "True"}, {"EXPORTER_OTLP_ENDPOINT": "http://c", "TRACES_EXPORTER": "none"},
		{"EXPORTER_OTLP_ENDPOINT": "c"},
	} {
		tracer, flush := Tracer(getenv(given), "v1", "libretto/v1", logr.Discard())
		if flush(); tracer != nil {
			t.Errorf("with %v there are traces", given)
		}
	}
}

// TestClient checks that spans reach a collector that is busy at first, over TLS, compressed and with the headers.
func TestClient(t *testing.T) {
	var got []*http.Request
	var spans tracepb.TracesData
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got = append(got, r); len(got) == 1 {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		text, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, _ := io.ReadAll(text)
		if err := proto.Unmarshal(body, &spans); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := environment(getenv(map[string]string{
		"EXPORTER_OTLP_ENDPOINT": server.URL, "EXPORTER_OTLP_CERTIFICATE": file, "EXPORTER_OTLP_HEADERS": "authorization=Bearer%20x",
		"EXPORTER_OTLP_COMPRESSION": "gzip",
	})).config()
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(c, "libretto/v1")
	if err := client.UploadTraces(t.Context(), []*tracepb.ResourceSpans{{SchemaUrl: "x"}}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[1].Header.Get("Authorization") != "Bearer x" || got[1].URL.Path != "/v1/traces" || spans.GetResourceSpans()[0].GetSchemaUrl() != "x" {
		t.Errorf("%d requests with %v: %v", len(got), got[len(got)-1].Header, &spans)
	}
}

// TestUnreachable checks that a collector that can't be reached costs lines of the log that are few and without secrets, and that the end
// of the process does not wait for it for long.
func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	var mu sync.Mutex
	var lines []string
	log := funcr.New(func(_, args string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, args)
	}, funcr.Options{})
	url := strings.Replace(server.URL, "://", "://me:swordfish@", 1)
	tracer, flush := Tracer(getenv(map[string]string{"EXPORTER_OTLP_ENDPOINT": url, "EXPORTER_OTLP_TIMEOUT": "100"}), "v1", "libretto/v1", log)
	_, span := tracer.Start(t.Context(), "x")
	span.End()
	began := time.Now()
	flush()
	text := strings.Join(lines, "\n")
	if took := time.Since(began); took > flushTimeout || len(lines) != 2 || !strings.Contains(text, "refused") || strings.Contains(text, "swordfish") {
		t.Errorf("after %s the log has:\n%s", took, text)
	}
	errs := &errorLog{log: log, lines: rate.NewLimiter(rate.Every(time.Minute), 3)}
	for range 1000 {
		errs.Handle(errors.New("boom"))
	}
	if got := len(lines) - 2; got != 3 {
		t.Errorf("%d lines for 1000 errors", got)
	}
}
