//go:build linux

package hostile

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testclock "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// maxTexts is how much text a call that fails may put into the log at -v=1, events and the parent
// together.
const maxTexts = 16 << 10

// talkative marks the attacks that make as much text as they can of a call that fails.
const talkative = "-text-"

const definitionOfBoxes = `{"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController",
	"metadata": {"name": "boxes"}, "spec": {
	"parentResource": {"apiVersion": "example.com/v1", "resource": "boxes"},
	"childResources": [{"apiVersion": "v1", "resource": "configmaps", "updateStrategy": {"method": "InPlace"}}],
	"hooks": {"sync": {"webhook": {"url": "http://hooks.invalid/sync"}}}}}`

const box = `{"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "a", "namespace": "default"},
	"spec": {"selector": {"matchLabels": {"app": "a"}}}}`

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// writtenLog is a log that is safe for concurrent use.
type writtenLog struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write appends to the log.
func (l *writtenLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

// take returns the log and empties it.
func (l *writtenLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.all.Reset()
	return l.all.String()
}

// logger returns a logger like that of the program, at -v=1.
func (l *writtenLog) logger() logr.Logger {
	encoder := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	return zapr.NewLogger(zap.New(zapcore.NewCore(encoder, zapcore.AddSync(l), zapcore.Level(-1))))
}

// TestTextsOfFailingCalls has the real reconciler call scripts that fail with much to say, and counts what
// they write.
func TestTextsOfFailingCalls(t *testing.T) {
	written := &writtenLog{}
	given := terms{deadline: 10 * time.Second, loading: 10 * time.Second, grace: time.Second, memory: 64 << 20}
	l := newLane(t, given, sandbox.Config{Log: written.logger()})
	boxes, err := memcluster.Custom("example.com/v1", "Box", "boxes", true, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range corpus(t, canary{}) {
		if !strings.Contains(a.name, talkative) {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			program, err := l.compile(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			session, err := simulation.Run(t.Context(), simulation.Input{
				Definition: objectOf(t, definitionOfBoxes), Objects: []*unstructured.Unstructured{objectOf(t, box)},
				Resources: []memcluster.Resource{boxes},
				Programs:  map[string]engines.Program{"sync": program}, Clock: testclock.NewFakeClock(time.Unix(0, 0)), Log: written.logger(),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if strings.HasPrefix(a.name, "answer-text-refused") {
				session.Refuse(memcluster.Refusal{Verb: memcluster.Create, Resource: "configmaps", Reason: metav1.StatusReasonForbidden, Times: 50})
			}
			written.take()
			result, err := session.Reconcile(t.Context(), objectOf(t, box))
			if err != nil || result.Err == nil {
				t.Fatalf("the pass fails with %.300v, want an error (%v)", result.Err, err)
			}
			values := []any{"key", "default/a", "failures", 1, "error", result.Err.Error()}
			written.logger().Info("reconcile failed", append(values, parent.FailureDetails(result.Err)...)...) // As package runtime/controller does.
			size := len(written.take())
			for _, event := range result.Events {
				size += len(event.Reason) + engines.JSONBytes(event.Message)
			}
			status, err := json.Marshal(result.Parent.Object["status"])
			if size += len(status); err != nil || size > maxTexts || size < 100 {
				t.Errorf("%d bytes of text, want %d at most (%v)", size, maxTexts, err)
			}
			t.Logf("%d bytes: %.100s", size, result.Err)
		})
	}
}
