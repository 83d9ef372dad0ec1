package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/javascript"
)

// root is the root of the checkout.
var root = filepath.Join("..", "..")

func exampleScript(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(root, exampleFolder, scriptName))
	if err != nil {
		t.Fatal(err)
	}
	return string(script)
}

// TestScriptEdits checks the edits against the example's script: the first and the second must load, the third fail in the right line.
func TestScriptEdits(t *testing.T) {
	script := exampleScript(t)
	led, err := leaderEdit.apply(script)
	if err != nil {
		t.Fatalf("leaderEdit: %v", err)
	}
	if err := compile(t, led); err != nil {
		t.Errorf("the edited script does not load: %v", err)
	}
	refused, err := hostNetwork.apply(led)
	if err != nil {
		t.Fatalf("hostNetwork: %v", err)
	}
	if err := compile(t, refused); err != nil {
		t.Errorf("the script with the refused field does not load: %v", err)
	}
	harmful, err := missingLetter.apply(led)
	if err != nil {
		t.Fatalf("missingLetter: %v", err)
	}
	if err := compile(t, harmful); err != nil {
		t.Errorf("the harmful script does not load: %v", err)
	}
	broken, err := missingParenthesis.apply(led)
	if err != nil {
		t.Fatalf("missingParenthesis: %v", err)
	}
	want := fmt.Sprintf("%s:%d:", scriptName, missingParenthesis.line(led))
	if err := compile(t, broken); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the broken script: got error %v, want one that contains %q", err, want)
	}
}

func compile(t *testing.T, script string) error {
	t.Helper()
	engine, err := javascript.Definition().New(engines.Config{})
	if err != nil {
		t.Fatalf("engine: %v", err)
	}
	_, err = engine.Compile(context.Background(), engines.Source{Hook: "sync", Script: &engines.Script{
		Path:      scriptName,
		Files:     map[string]string{scriptName: script},
		Signature: engines.Request,
	}})
	return err
}

func TestEditApply(t *testing.T) {
	e := edit{old: "two", new: "2"}
	for name, c := range map[string]struct {
		reason, script, want string
		fails                bool
	}{
		"Once":    {reason: "what is there once is replaced", script: "one\ntwo\n", want: "one\n2\n"},
		"Missing": {reason: "an edit that does nothing would show nothing", script: "one\n", fails: true},
		"Twice":   {reason: "it would be unclear which is meant", script: "two two", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := e.apply(c.script)
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("%s: got %q, %v", c.reason, got, err)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	for name, c := range map[string]struct {
		before, after string
		want          []diffLine
	}{
		"Changed": {"a\nb\nc\n", "a\nB\nc\n", []diffLine{{'@', "f, line 2"}, {'-', "b"}, {'+', "B"}}},
		"Added":   {"a\nc\n", "a\nb\nc\n", []diffLine{{'@', "f, line 2"}, {'+', "b"}}},
		"Removed": {"a\na\nb\n", "a\nb\n", []diffLine{{'@', "f, line 2"}, {'-', "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, diff("f", c.before, c.after), cmp.AllowUnexported(diffLine{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNextReading(t *testing.T) {
	for _, entry := range nextReading {
		if _, err := os.Stat(filepath.Join(root, entry[0])); err != nil {
			t.Errorf("what the summary points at is not there: %v", err)
		}
	}
}
