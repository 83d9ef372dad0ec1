package parent

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/parent/statuses"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

// newTestPass returns a pass over parent whose hooks have read what read has.
func newTestPass(parent *unstructured.Unstructured, read engines.ReadSet) *pass {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	source := &sources.Parent{ParentRule: variant.ParentRule{Resource: parenttest.ThingResource(true, true)}}
	p := &pass{
		shared: &shared{
			env:      Environment{Clock: clock, StatusDelay: time.Second},
			memories: memories{pendingWrites: writes.NewPending(clock), passCache: answers.NewCache(lru.New(1<<20), ""), deferredStatuses: statuses.NewDeferred(), status: statuses.NewWriter(nil, nil, clock), detector: loops.NewDetector(clock), resyncs: loops.NewRateLimiter[controller.Key](clock, shortResyncs, resyncInterval)},
		},
		key:      controller.Key{Name: "p"},
		source:   source,
		parent:   parent,
		observed: variant.Observed{Parent: parent},
		used:     usedInputs{read: answers.InputsIn(read)},
	}
	p.fingerprint = p.passCache.Fingerprint(p.observed, "r", 0)
	return p
}

// TestParentThatCounts changes each field of a parent after a pass, and with it the version, and checks whether a pass must follow.
func TestParentThatCounts(t *testing.T) {
	spec, none := engines.ReadSet{"children", "parent.spec"}, engines.ReadSet{}
	status := variant.Desired{Status: map[string]any{"n": int64(1)}}
	set := "1"
	setsLabel := variant.Desired{Labels: map[string]*string{"a": &set}}
	setsAnnotation := variant.Desired{Annotations: map[string]*string{"a": &set}}
	cases := map[string]struct {
		reason  string
		read    engines.ReadSet
		desired variant.Desired
		path    []string // of the field that changes
		want    bool     // that a pass follows
	}{
		"Version":             {"A new version with the same content, as after a change back.", spec, status, nil, false},
		"VersionRead":         {"A hook has read the version.", engines.ReadSet{"parent.metadata.resourceVersion"}, status, nil, true},
		"VersionUnknown":      {"What a webhook reads is unknown.", nil, status, nil, true},
		"Labels":              {"No hook has read the labels.", spec, status, []string{"metadata", "labels"}, false},
		"LabelsRead":          {"A hook has.", engines.ReadSet{"parent.metadata.labels"}, status, []string{"metadata", "labels"}, true},
		"LabelsSet":           {"They are compared with the desired ones.", spec, setsLabel, []string{"metadata", "labels"}, true},
		"Annotations":         {"No hook has read the annotations.", spec, status, []string{"metadata", "annotations"}, false},
		"AnnotationsRead":     {"A decorator's hook has.", engines.ReadSet{"object.metadata.annotations"}, status, []string{"metadata", "annotations"}, true},
		"AnnotationsSet":      {"They are compared with the desired ones.", spec, setsAnnotation, []string{"metadata", "annotations"}, true},
		"AnnotationsForLabel": {"Only labels are set.", spec, setsLabel, []string{"metadata", "annotations"}, false},
		"MetadataRead":        {"A hook has read all metadata.", engines.ReadSet{"parent.metadata"}, status, []string{"metadata", "annotations"}, true},
		"ParentRead":          {"A hook has read all of the parent.", engines.ReadSet{"parent"}, status, []string{"metadata", "labels"}, true},
		"Status":              {"It is compared with the desired one.", none, status, []string{"status"}, true},
		"StatusEmpty":         {"An empty status differs from none.", none, variant.Desired{Status: map[string]any{}}, []string{"status"}, true},
		"StatusLeftAlone":     {"The definition writes none, and no hook has read it.", spec, variant.Desired{}, []string{"status"}, false},
		"StatusRead":          {"A hook has read it.", engines.ReadSet{"object.status"}, variant.Desired{}, []string{"status"}, true},
		"Spec":                {"The selector and the history are in it.", none, status, []string{"spec"}, true},
		"Data":                {"So they are in any other field.", none, status, []string{"data"}, true},
		"Generation":          {"It is the observedGeneration.", none, status, []string{"metadata", "generation"}, true},
		"Deletion":            {"It decides about the hook and the finalizer.", none, status, []string{"metadata", "deletionTimestamp"}, true},
		"Finalizers":          {"They decide about finalizing.", none, status, []string{"metadata", "finalizers"}, true},
		"UID":                 {"It is another parent.", none, status, []string{"metadata", "uid"}, true},
		"Owners":              {"A field of which nothing is known counts.", none, status, []string{"metadata", "ownerReferences"}, true},
		"Unknown":             {"So does a new one.", none, status, []string{"metadata", "future"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newTestPass(parenttest.FullParent(), tc.read)
			if _, err := p.conclude(tc.desired, nil); err != nil {
				t.Fatal(err)
			}
			after := parenttest.FullParent()
			after.SetResourceVersion("2")
			if tc.path != nil {
				_ = unstructured.SetNestedField(after.Object, "changed", tc.path...)
			}
			now := p.passCache.Fingerprint(variant.Observed{Parent: after}, "r", 0)
			if _, skipped := p.passCache.LookupResult(p.key, now, after); skipped == tc.want {
				t.Errorf("the pass is skipped: %v: %s", skipped, tc.reason)
			}
		})
	}
}

// TestVariantReadsParent checks that what a variant has read of the parent counts like what its hooks have.
func TestVariantReadsParent(t *testing.T) {
	for path, want := range map[string]answers.Inputs{
		"parent.spec": 0, "parent.metadata.labels": answers.ReadLabels, "parent.metadata.labels.tier": answers.ReadLabels, "parent.status.phase": answers.ReadStatus,
		"parent.metadata": answers.ReadVersion | answers.ReadLabels | answers.ReadAnnotations,
	} {
		if got := answers.InputsIn(engines.ReadSet{path}); got != want {
			t.Errorf("%s: %b counts, want %b", path, got, want)
		}
	}
}

// TestRelatedObjectsCount checks that related objects count if a hook has read them.
func TestRelatedObjectsCount(t *testing.T) {
	for name, tc := range map[string]struct {
		read engines.ReadSet
		want bool
	}{"Read": {engines.ReadSet{"related"}, true}, "NotRead": {engines.ReadSet{"parent.spec"}, false}, "Unknown": {nil, true}} {
		p := newTestPass(parenttest.FullParent(), tc.read)
		if _, err := p.conclude(variant.Desired{}, nil); err != nil {
			t.Fatal(err)
		}
		now := p.passCache.Fingerprint(variant.Observed{Parent: p.parent, Related: []*unstructured.Unstructured{parenttest.Object("r")}}, "r", 0)
		if _, skipped := p.passCache.LookupResult(p.key, now, p.parent); skipped == tc.want {
			t.Errorf("%s: the pass is skipped: %v", name, skipped)
		}
	}
}

// TestOnlyTheLastResultCounts checks that a pass is not skipped because of what was before the last one: what was written since, and
// what the hooks wait for, is of the last one.
func TestOnlyTheLastResultCounts(t *testing.T) {
	p := newTestPass(parenttest.FullParent(), engines.ReadSet{})
	if _, err := p.conclude(variant.Desired{}, nil); err != nil {
		t.Fatal(err)
	}
	edited := parenttest.FullParent()
	edited.SetResourceVersion("2")
	edited.Object["spec"] = map[string]any{"n": int64(2)}
	for _, parent := range []*unstructured.Unstructured{edited, parenttest.FullParent()} {
		now := p.passCache.Fingerprint(variant.Observed{Parent: parent}, "r", 0)
		if _, skipped := p.passCache.LookupResult(p.key, now, parent); skipped {
			t.Error("the pass is skipped")
		}
	}
}

// TestSettledByWrites checks which passes that wrote something are remembered.
func TestSettledByWrites(t *testing.T) {
	spec := engines.ReadSet{"children", "parent.spec"}
	one := map[string]any{"n": int64(1)}
	set := "2"
	cases := map[string]struct {
		reason  string
		read    engines.ReadSet
		desired variant.Desired
		written func(p *pass)
		want    bool
	}{
		"Status": {"No hook has read what was written.", spec, variant.Desired{Status: one}, wroteStatus(one), true},
		"StatusRead": {
			"A hook that reads its status may go on from there.", engines.ReadSet{"parent.status"}, variant.Desired{Status: one}, wroteStatus(one),
			false,
		},
		"Webhook": {"So may one of which nothing is known.", nil, variant.Desired{Status: one}, wroteStatus(one), false},
		"Pruned": {
			"What was stored is not what was sent, and nothing knows that the API server drops it.", spec, variant.Desired{Status: one},
			wroteStatus(map[string]any{}), false,
		},
		"Merged": {
			"The next status is made of the written one.", spec, variant.Desired{Status: one, StatusOrigin: variant.StatusMerged}, wroteStatus(one), true,
		},
		"Children": {"Children are to be observed.", spec, variant.Desired{Status: one}, func(p *pass) {
			wroteStatus(one)(p)
			p.writes.children = true
		}, false},
		"ChildrenAlone": {"Also alone.", spec, variant.Desired{}, func(p *pass) { p.writes.any, p.writes.children = true, true }, false},
		"Labels": {
			"No hook has read the labels that were written.", spec, variant.Desired{Labels: map[string]*string{"a": &set}},
			func(p *pass) {
				writtenAs(p, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "2"}) })
			}, true,
		},
		"LabelsDiffer": {
			"An admission webhook has changed them.", spec, variant.Desired{Labels: map[string]*string{"a": &set}},
			func(p *pass) {
				writtenAs(p, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "3"}) })
			}, false,
		},
		"Conflict": {
			"The status was written to a version with annotations that a hook has not seen.", engines.ReadSet{"parent.metadata.annotations"},
			variant.Desired{Status: one}, func(p *pass) {
				wroteStatus(one)(p)
				p.parent.SetAnnotations(map[string]string{"a": "2"})
			}, false,
		},
		"Finalizer": {"The finalizer was removed.", spec, variant.Desired{}, func(p *pass) {
			writtenAs(p, func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
		}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parent := parenttest.FullParent()
			parent.Object["status"] = map[string]any{"n": int64(0)}
			p := newTestPass(parent, tc.read)
			defer p.pendingWrites.Close()
			tc.written(p)
			if _, err := p.conclude(tc.desired, nil); err != nil {
				t.Fatal(err)
			}
			now := p.passCache.Fingerprint(variant.Observed{Parent: p.parent}, "r", 0)
			if _, skipped := p.passCache.LookupResult(p.key, now, p.parent); skipped != tc.want {
				t.Errorf("the pass after the write is skipped: %v: %s", skipped, tc.reason)
			}
		})
	}
}

// wroteStatus has the pass write a status.
func wroteStatus(status map[string]any) func(p *pass) {
	return func(p *pass) { writtenAs(p, func(o *unstructured.Unstructured) { o.Object["status"] = status }) }
}

// writtenAs has the pass write the parent.
func writtenAs(p *pass, edit func(o *unstructured.Unstructured)) {
	written := p.parent.DeepCopy()
	written.SetResourceVersion("2")
	edit(written)
	p.setParent(written)
}
