package memcluster

import (
	"fmt"
	"math"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Seed stores an object as it is, with its status and deletionTimestamp. It fills in missing metadata. It
// returns an error for one that is invalid.
func (c *Cluster) Seed(object *unstructured.Unstructured) error {
	return c.withTable(object, func(t *table) error { return c.seed(t, object) })
}

func (c *Cluster) seed(t *table, object *unstructured.Unstructured) error {
	seeded := object.DeepCopy()
	switch {
	case t.Namespaced && seeded.GetNamespace() == "":
		seeded.SetNamespace(metav1.NamespaceDefault)
	case !t.Namespaced:
		seeded.SetNamespace("")
	}
	key := keyOf(seeded)
	if t.objects[key] != nil {
		return fmt.Errorf("%s %s is there twice", t.Kind.Kind, key)
	}
	t.creations[key]++
	if seeded.GetUID() == "" {
		seeded.SetUID(uidFor(t.Kind.Kind, key, t.creations[key]))
	}
	if seeded.GetGeneration() == 0 && t.Generation {
		seeded.SetGeneration(1)
	}
	created := seeded.GetCreationTimestamp()
	if created.IsZero() {
		seeded.SetCreationTimestamp(metav1.NewTime(c.clock.Now()))
	}
	r := &request{name: seeded.GetName()}
	if err := t.decode(r, seeded); err != nil {
		return fmt.Errorf("%s %s: %w", t.Kind.Kind, key, err)
	}
	if err := t.validate(r, seeded); err != nil {
		return err
	}
	c.store(t, watch.Added, seeded)
	return nil
}

// Store stores an object that an API server returned: nothing is missing, and what is stored is not validated again. It is read as that API
// server would read it, so that a write that changes nothing leaves it as it is. The object is shared and not changed, and must not be by
// others.
func (c *Cluster) Store(object *unstructured.Unstructured) error {
	return c.withTable(object, func(t *table) error {
		c.storeRead(t, object)
		return nil
	})
}

// storeRead stores an object as it was read, unless it is there. The lock is held.
func (c *Cluster) storeRead(t *table, object *unstructured.Unstructured) {
	key := keyOf(object)
	if t.objects[key] != nil {
		return
	}
	t.creations[key]++
	read := t.read(object)
	if version, err := strconv.ParseInt(read.GetResourceVersion(), 10, 64); err == nil && 0 < version && version <= maxStoredVersion &&
		!t.listed {
		c.version = max(c.version, version)
		t.objects[key] = read // Who lists sees it, so that it is no event.
		return
	}
	c.store(t, watch.Added, withOwnMetadata(read))
}

// maxStoredVersion bounds the versions that stored objects keep, so that there are as many for changes.
const maxStoredVersion = math.MaxInt64 / 2

// read returns an object as the API server reads it that has stored it: the same one, unless that makes a difference.
func (t *table) read(object *unstructured.Unstructured) *unstructured.Unstructured {
	if t.Schema == nil {
		if read, differs := t.readTable(object.Object); differs {
			return &unstructured.Unstructured{Object: read}
		}
		return object
	}
	// What can't be decoded was stored under another schema, and is taken as it is.
	read, _ := t.decoded(&request{name: object.GetName()}, object)
	return read
}

// Existing makes the cluster ask for an object before it creates one that it does not have: it has a part of another cluster, and names are
// taken there. find returns nil if there is none. It is called with the cluster locked.
func (c *Cluster) Existing(find func(Resource, types.NamespacedName) (*unstructured.Unstructured, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.existing = find
}

// findExisting stores the object that another cluster has under the name of one that is created, and returns it, or nil.
func (c *Cluster) findExisting(t *table, r *request) (*unstructured.Unstructured, error) {
	if c.existing == nil || t.creations[r.key] > 0 || r.verb != Create && r.patchType != types.ApplyPatchType {
		return nil, nil
	}
	found, err := c.existing(t.Resource, r.key)
	if found != nil && err == nil {
		c.storeRead(t, found)
	}
	return t.objects[r.key], err
}

// withTable calls a function with the table of an object, and the lock held.
func (c *Cluster) withTable(object *unstructured.Unstructured, do func(*table) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := object.GroupVersionKind()
	if t := c.byKind[kind]; t != nil {
		return do(t)
	}
	return errNoKind(kind)
}
