package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/steps"
)

// logBuilder builds observations. Each has a newer resourceVersion.
type logBuilder struct{ log steps.Observations }

func (b *logBuilder) see(resource schema.GroupVersionResource, name string, gone bool, content map[string]any) *logBuilder {
	o := &unstructured.Unstructured{Object: content}
	o.SetName(name)
	o.SetResourceVersion(fmt.Sprint(len(b.log) + 1))
	b.log = append(b.log, steps.Observation{Resource: resource, Object: o, Deleted: gone})
	return b
}

func (b *logBuilder) there(resource schema.GroupVersionResource, name string) *logBuilder {
	return b.see(resource, name, false, map[string]any{})
}

func (b *logBuilder) gone(resource schema.GroupVersionResource, name string) *logBuilder {
	return b.see(resource, name, true, map[string]any{})
}

// tablet adds the Pod of a tablet.
func (b *logBuilder) tablet(name, ready string) *logBuilder {
	return b.see(pods, name, false, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"vitess.libretto.dev/component": "vttablet"}},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
	})
}

func TestOrder(t *testing.T) {
	o := order{"cells went before jobs came", gone(cells, "a"), created(jobs, "b")}
	for name, c := range map[string]struct {
		given *logBuilder
		want  string // In the error, or empty for none.
	}{
		"Kept":          {new(logBuilder).there(cells, "a1").gone(cells, "a1").there(jobs, "b1"), ""},
		"Broken":        {new(logBuilder).there(jobs, "b1").gone(cells, "a1"), "jobs b1 was before vitesscells a1"},
		"OneOfSeveral":  {new(logBuilder).gone(cells, "a1").there(jobs, "b1").gone(cells, "a2"), "b1 was before vitesscells a2"},
		"OthersIgnored": {new(logBuilder).there(jobs, "c").gone(cells, "a1").there(jobs, "b1").gone(cells, "c"), ""},
		"NeverGone":     {new(logBuilder).there(cells, "a1").there(jobs, "b1"), "no vitesscells a*"},
		"NeverCreated":  {new(logBuilder).gone(cells, "a1"), "no jobs b*"},
	} {
		t.Run(name, func(t *testing.T) {
			err := o.check(c.given.log)
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
		})
	}
}

// TestOrderOfReports checks that resourceVersions count, and not the order in which watches report.
func TestOrderOfReports(t *testing.T) {
	b := new(logBuilder).gone(cells, "a").there(jobs, "b")
	b.log[0], b.log[1] = b.log[1], b.log[0]
	if err := (order{"cells went first", gone(cells, "a"), created(jobs, "b")}).check(b.log); err != nil {
		t.Error(err)
	}
}

func TestRolledOneAtATime(t *testing.T) {
	before := new(logBuilder).tablet("a", "True").tablet("b", "True")
	for name, c := range map[string]struct {
		given *logBuilder
		want  string // The order, or a part of the error.
	}{
		"OneByOne":  {new(logBuilder).tablet("a", "False").tablet("a", "True").gone(pods, "b").tablet("b", "True"), "a b"},
		"AtOnce":    {new(logBuilder).gone(pods, "a").gone(pods, "b").tablet("a", "True").tablet("b", "True"), "at the same time"},
		"TooEarly":  {new(logBuilder).gone(pods, "a").tablet("a", "False").gone(pods, "b"), "at the same time"},
		"OneOnly":   {new(logBuilder).gone(pods, "a").tablet("a", "True"), "each of 2 tablets"},
		"Twice":     {new(logBuilder).gone(pods, "a").tablet("a", "True").gone(pods, "a").tablet("a", "True"), "once"},
		"OtherPods": {new(logBuilder).gone(pods, "a").gone(pods, "vtgate").tablet("a", "True").gone(pods, "b").tablet("b", "True"), "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rolledOneAtATime(before.log, c.given.log)
			if text := strings.Join(got, " ") + fmt.Sprint(err); !strings.Contains(text, c.want) {
				t.Errorf("got %v and error %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestNextReading(t *testing.T) {
	for _, entry := range nextReading {
		if _, err := os.Stat(filepath.Join("..", "..", "..", entry[0])); err != nil {
			t.Errorf("what the summary points at is not there: %v", err)
		}
	}
}
