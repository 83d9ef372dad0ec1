package parent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// listened returns a pass of a definition that is listened to at a level, though its process logs little, and its log.
func listened(level int) (*pass, *[]string) {
	var lines []string
	process := verbosity.Limited(funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 100}), 0)
	own := &verbosity.Level{}
	own.Set(level)
	return &pass{
		shared: &shared{config: Config{Definition: "MapController m"}, env: Environment{Log: verbosity.Raised(process, own)}},
		key:    controller.Key{Name: "p"}, source: &sources.Parent{},
	}, &lines
}

// TestAnswerInLog checks which level has what hooks answer, and that it has nothing that is secret.
func TestAnswerInLog(t *testing.T) {
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"password": "correct-horse"}}
	configMap := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"url": "db://correct-horse@host"}}
	call := variant.Call{Hook: "map", Subject: "a", Request: map[string]any{"object": secret}}
	body := map[string]any{"children": []any{secret, configMap}}
	for level, want := range map[int]string{
		1: "",
		4: `"level"=4 "msg"="hook answered" "definition"="MapController m" "hook"="map" "parent"=" p" "subject"="a" ` +
			`"answer"="{\"children\":[\"(hidden)\",{\"apiVersion\":\"v1\",\"data\":{\"url\":\"db://(hidden)@host\"},\"kind\":\"ConfigMap\"}]}"`,
	} {
		p, lines := listened(level)
		p.logAnswer(call, body)
		if diff := cmp.Diff(want, strings.Join(*lines, "\n")); diff != "" {
			t.Errorf("at level %d (-want +got):\n%s", level, diff)
		}
	}
	p, lines := listened(verbosity.Values)
	p.logAnswer(call, map[string]any{"children": strings.Repeat("x", 1<<20)})
	if got := len((*lines)[0]); got > 2*maxLoggedAnswer {
		t.Errorf("a long answer makes a line of %d bytes", got)
	}
}

// TestMaskedConsole checks that what scripts print has nothing of the Secrets that they were sent.
func TestMaskedConsole(t *testing.T) {
	call := variant.Call{Request: map[string]any{"related": map[string]any{"Secret.v1": map[string]any{
		"a": map[string]any{"kind": "Secret", "apiVersion": "v1", "data": map[string]any{"password": "Y29ycmVjdC1ob3JzZQ=="}},
	}}}}
	p, _ := listened(verbosity.Decisions)
	got := p.maskConsole(call, []string{"connecting with correct-horse", "done"})
	if diff := cmp.Diff([]string{"connecting with (hidden)", "done"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEndInLog checks what the log has of a pass that went well.
func TestEndInLog(t *testing.T) {
	p, lines := listened(verbosity.Values)
	p.writes.any, p.due.backoff = true, time.Second
	p.used.knownAnswers.Add(2)
	p.logEnd(controller.Result{RequeueAfter: time.Minute}, nil)
	p.logEnd(controller.Result{}, errors.New("the control loop logs it"))
	want := `"level"=4 "msg"="parent synced" "definition"="MapController m" "parent"=" p" "wrote"=true "knownAnswers"=2 "next"="1m0s" "backoff"="1s"`
	if diff := cmp.Diff(want, strings.Join(*lines, "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	p.env.Log = logr.Discard()
	p.logEnd(controller.Result{}, nil)
}

// TestFailureDetails checks that the line of a failure has the stack of its script.
func TestFailureDetails(t *testing.T) {
	thrown := &engines.Error{Message: "boom", Stack: []string{"at f (sync.js:1:2)", "at sync (sync.js:3:4)"}}
	for name, c := range map[string]struct {
		err  error
		want []any
	}{
		"none":      {errors.New("boom"), nil},
		"no stack":  {&engines.Error{Message: "boom"}, nil},
		"script":    {thrown, []any{"stack", "at f (sync.js:1:2)\nat sync (sync.js:3:4)"}},
		"wrapped":   {shorten(fmt.Errorf("%w: %s", variant.HookError("sync", thrown), strings.Repeat("x", 5000))), []any{"stack", "at f (sync.js:1:2)\nat sync (sync.js:3:4)"}},
		"of joined": {errors.Join(errors.New("boom"), thrown), []any{"stack", "at f (sync.js:1:2)\nat sync (sync.js:3:4)"}},
	} {
		if diff := cmp.Diff(c.want, FailureDetails(c.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
