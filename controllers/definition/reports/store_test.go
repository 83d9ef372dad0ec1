package reports

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

var web = controller.Key{Kind: v1alpha1.GroupVersion.WithKind("CompositeController"), Name: "web"}

// TestStore writes reports of two shards about two definitions, and reads those of one.
func TestStore(t *testing.T) {
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{configMaps: "ConfigMapList"})
	store := NewStore(client, "libretto", "group", logr.Discard())
	changed := make(chan string, 100)
	remove, err := store.Listen(func(definition string) { changed <- definition })
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	go store.Run(t.Context())
	ranges, other := shard.Divide(nil, 2), controller.Key{Kind: web.Kind, Name: "other"}
	first := &Report{
		Ready: metav1.Condition{Reason: "Running"}, Summary: &parent.Summary{Parents: 1}, Scripts: []string{"a"}, ScriptsKnown: true,
		Parents: []Parent{{Hash: 7, Labels: map[string]string{"a": "b"}, Name: "Web shop/a", Health: rollout.Failing, Children: 3}},
		Guard:   &v1alpha1.DeletionGuardStatus{Edit: v1alpha1.GuardedEdit{SpecHash: "x"}},
		Hold:    Hold{Exceeded: rollout.Exceeded{Revision: "r", Before: "s", Message: "9 of 10"}},
	}
	second := &Report{Ready: metav1.Condition{Reason: "Starting"}}
	write := func(about controller.Key, of shard.Range, report *Report) {
		t.Helper()
		if err := store.Write(t.Context(), about, of, report); err != nil {
			t.Fatal(err)
		}
	}
	write(web, ranges[0], second)
	write(web, ranges[0], first)
	write(web, ranges[1], second)
	write(web, shard.Divide(nil, 3)[2], second) // Of an earlier division.
	write(other, ranges[1], second)
	// Writes before the first list are one event for each object, which has the last of them.
	eventually := func(what string, done func() bool) {
		t.Helper()
		for late := time.After(20 * time.Second); !done(); {
			select {
			case <-changed:
			case <-late:
				t.Fatalf("not in time: %s", what)
			}
		}
	}
	want := map[int]*Report{0: first, 1: second}
	eventually("both reports", func() bool { return cmp.Equal(want, store.Of(web, 2), cmpopts.EquateEmpty()) })
	if err := store.Delete(t.Context(), web, ranges[0]); err != nil {
		t.Fatal(err)
	}
	if err := store.Delete(t.Context(), web, ranges[0]); err != nil {
		t.Errorf("a report that is gone: %v", err)
	}
	eventually("one report less", func() bool { return len(store.Of(web, 2)) == 1 })
	if err := store.DeleteAll(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	eventually("no report", func() bool { return len(store.Of(web, 2))+len(store.Of(web, 3)) == 0 })
	if len(store.Of(other, 2)) != 1 {
		t.Error("the report about another definition is gone")
	}
}

// TestDecode reads what is no report, and reports that are too long.
func TestDecode(t *testing.T) {
	for name, stored := range map[string][]byte{"empty": nil, "text": []byte("{}")} {
		if report, err := decode(stored); err == nil {
			t.Errorf("%s: %v", name, report)
		}
	}
	random, report := rand.New(rand.NewPCG(1, 2)), &Report{}
	for len(report.Parents) < 200_000 {
		report.Parents = append(report.Parents, Parent{Hash: random.Uint32()})
	}
	if _, err := report.encode(); err == nil || !strings.Contains(err.Error(), "use more --shards") {
		t.Errorf("200000 parents: error %v", err)
	}
	report.Parents = report.Parents[:20_000]
	packed, err := report.encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode(packed); err != nil || cmp.Diff(report, got) != "" {
		t.Errorf("20000 parents: error %v, %s", err, cmp.Diff(report, got))
	}
}
