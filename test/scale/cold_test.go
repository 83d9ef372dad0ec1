package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestColdTimes checks what is printed of the times at which tenants were done.
func TestColdTimes(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(seconds ...int) (times []time.Time) {
		for _, s := range seconds {
			times = append(times, began.Add(time.Duration(s)*time.Second))
		}
		return times
	}
	for name, c := range map[string]struct {
		done   []time.Time
		lifted time.Time
		want   string
	}{
		"all":    {at(1, 2, 3, 4), time.Time{}, "4.0 s"},
		"lifted": {at(1, 2, 13, 14), at(10)[0], "14.0 s: 2 within the limit, all 4.0 s after it was lifted"},
	} {
		t.Run(name, func(t *testing.T) {
			var m coldMeasurement
			m.setTimes(c.done, began, c.lifted, 4)
			if got := m.doneText(4); got != c.want || m.Half != 2 {
				t.Errorf("it says %q and half %v, want %q and 2", got, m.Half, c.want)
			}
		})
	}
	var m coldMeasurement
	m.setTimes(at(1, 2), began, time.Time{}, 4)
	if m.Done != 2 || m.Wall < 60 || m.Half != 2 {
		t.Errorf("of tenants that were not all done it says %+v", m)
	}
}

// TestTenants checks that a tenant is done once its definition is Ready and its parent has seen its child, and that one that is not Ready
// any more is not done.
func TestTenants(t *testing.T) {
	ready := func(status string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Accepted", "status": "True"}, map[string]any{"type": "Ready", "status": status},
		}}}}
	}
	parent := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"children": int64(1)}}}
	all := &tenants{number: 1, ready: map[string]bool{}, synced: map[string]bool{}, first: map[string]time.Time{}}
	var got []bool
	for _, step := range []func(){
		func() { all.see(all.ready, "a", isReady(ready("False"))) },
		func() { all.see(all.synced, "a", seesChild(parent)) },
		func() { all.see(all.ready, "a", isReady(ready("True"))) },
		func() { all.see(all.ready, "a", isReady(ready("Unknown"))) },
	} {
		step()
		got = append(got, all.all())
	}
	if diff := cmp.Diff([]bool{false, false, true, false}, got); diff != "" || len(all.times()) != 1 {
		t.Errorf("done (-want +got):\n%s%v", diff, all.times())
	}
}
