package finalizers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// fakeMetadata is an API server with one resource that lists two objects per page.
type fakeMetadata struct {
	metadata.Getter
	objects  []metav1.PartialObjectMetadata
	listings int
	// pages is called before each page, and patched before each patch. An error is returned.
	pages   func(continued string) error
	patched func(o *metav1.PartialObjectMetadata) error
}

func (p *fakeMetadata) Resource(schema.GroupVersionResource) metadata.Getter { return p }

func (p *fakeMetadata) Namespace(string) metadata.ResourceInterface { return p }

func (p *fakeMetadata) List(_ context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if options.Continue == "" {
		p.listings++
	}
	if p.pages != nil {
		if err := p.pages(options.Continue); err != nil {
			return nil, err
		}
	}
	start, _ := strconv.Atoi(options.Continue)
	end := min(start+2, len(p.objects))
	list := &metav1.PartialObjectMetadataList{Items: slices.Clone(p.objects[start:end])}
	if end < len(p.objects) {
		list.Continue = strconv.Itoa(end)
	}
	return list, nil
}

func (p *fakeMetadata) find(name string) (*metav1.PartialObjectMetadata, error) {
	for i := range p.objects {
		if p.objects[i].Name == name {
			return &p.objects[i], nil
		}
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, name)
}

func (p *fakeMetadata) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*metav1.PartialObjectMetadata, error) {
	object, err := p.find(name)
	if err != nil {
		return nil, err
	}
	return object.DeepCopy(), nil
}

func (p *fakeMetadata) Patch(
	ctx context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string,
) (*metav1.PartialObjectMetadata, error) {
	object, err := p.find(name)
	if err != nil {
		return nil, err
	}
	if p.patched != nil {
		if err := p.patched(object); err != nil {
			return nil, err
		}
	}
	patch := metav1.PartialObjectMetadata{}
	if err := errors.Join(ctx.Err(), json.Unmarshal(data, &patch)); err != nil {
		return nil, err
	}
	if patch.ResourceVersion != object.ResourceVersion || patch.UID != object.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "things"}, name, errors.New("newer"))
	}
	object.Finalizers = patch.Finalizers
	bumpVersion(object)
	return object.DeepCopy(), nil
}

// bumpVersion sets the next resourceVersion of an object.
func bumpVersion(o *metav1.PartialObjectMetadata) {
	version, _ := strconv.Atoi(o.ResourceVersion)
	o.ResourceVersion = strconv.Itoa(version + 1)
}

// newFakeMetadata returns a server with one object for each blank-separated list of finalizers.
func newFakeMetadata(finalizers ...string) *fakeMetadata {
	p := &fakeMetadata{}
	for i, names := range finalizers {
		p.objects = append(p.objects, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("o", i), UID: types.UID(fmt.Sprint("uid", i)), ResourceVersion: "1", Finalizers: strings.Fields(names),
		}})
	}
	return p
}

// left returns the finalizers of all objects.
func (p *fakeMetadata) left() []string {
	var left []string
	for _, o := range p.objects {
		left = append(left, strings.Join(o.Finalizers, " "))
	}
	return left
}

func TestRemoveFinalizers(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "o1", errors.New("no"))
	cases := map[string]struct {
		reason   string
		setUp    func(p *fakeMetadata)
		left     []string
		removed  int
		listings int
		fails    string
	}{
		"All": {
			reason: "all pages are processed, and then listed again", setUp: func(*fakeMetadata) {},
			left: []string{"", "a", "", "other", "a b"}, removed: 3, listings: 2,
		},
		"Conflict": {
			reason: "a changed object is read and patched again",
			setUp: func(p *fakeMetadata) {
				times := 0
				p.patched = func(o *metav1.PartialObjectMetadata) error {
					if times++; times < 4 {
						o.Finalizers = append(o.Finalizers, "new")
						bumpVersion(o)
					}
					return nil
				}
			},
			left: []string{"new new new", "a", "", "other", "a b"}, removed: 3, listings: 2,
		},
		"Expired": {
			reason: "an expired list is restarted",
			setUp: func(p *fakeMetadata) {
				p.pages = func(continued string) error {
					if continued == "4" && p.listings == 1 {
						return expired
					}
					return nil
				}
			},
			left: []string{"", "a", "", "other", "a b"}, removed: 3, listings: 3,
		},
		"Late": {
			reason: "a finalizer that was added during the list is found by the next",
			setUp: func(p *fakeMetadata) {
				p.pages = func(continued string) error {
					if continued == "4" && p.listings == 1 {
						p.objects[1].Finalizers = []string{"a", "mine"}
						bumpVersion(&p.objects[1])
					}
					return nil
				}
			},
			left: []string{"", "a", "", "other", "a b"}, removed: 4, listings: 3,
		},
		"Forbidden": {
			reason: "an error does not stop the others",
			setUp: func(p *fakeMetadata) {
				p.patched = func(o *metav1.PartialObjectMetadata) error {
					if o.Name == "o2" {
						return forbidden
					}
					return nil
				}
			},
			left: []string{"", "a", "mine", "other", "a b"}, removed: 2, listings: 1, fails: "things.example.com o2: ",
		},
		"Endless": {
			reason: "the number of lists is limited",
			setUp: func(p *fakeMetadata) {
				p.pages = func(string) error {
					p.objects[2].Finalizers = []string{"mine"}
					return nil
				}
			},
			left: []string{"", "a", "mine", "other", "a b"}, removed: 7, listings: 5, fails: "does another host run",
		},
		"Unserved": {
			reason: "a resource that is not served has no objects",
			setUp: func(p *fakeMetadata) {
				p.pages = func(string) error { return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "") }
			},
			left: []string{"mine", "a", "mine", "other", "a mine b"}, listings: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := newFakeMetadata("mine", "a", "mine", "other", "a mine b")
			tc.setUp(p)
			things := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
			removed, err := Finalizers{Client: p}.Remove(t.Context(), things, func(name string) bool { return name == "mine" })
			if removed != tc.removed || p.listings != tc.listings {
				t.Errorf("%s: %d objects in %d listings, want %d in %d", tc.reason, removed, p.listings, tc.removed, tc.listings)
			}
			if (err == nil) != (tc.fails == "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.fails)
			}
			if diff := cmp.Diff(tc.left, p.left()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFinalizerNames(t *testing.T) {
	p := newFakeMetadata("a b", "", "b", "c")
	pauses := 0
	finalizers := Finalizers{Client: p, Pause: func(context.Context) error { pauses++; return nil }}
	names, err := finalizers.Names(t.Context(), schema.GroupVersionResource{Resource: "things"})
	if diff := cmp.Diff(map[string]bool{"a": true, "b": true, "c": true}, names); diff != "" || err != nil || pauses != 2 {
		t.Errorf("%v, %d pauses, -want +got:\n%s", err, pauses, diff)
	}
}
