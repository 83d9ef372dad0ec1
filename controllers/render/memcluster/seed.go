package memcluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Seed stores an object as it is, with its status and deletionTimestamp. It fills in missing metadata. It
// returns an error for one that is invalid.
func (c *Cluster) Seed(object *unstructured.Unstructured) error {
	resource, err := c.ResourceOf(object.GroupVersionKind())
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t, seeded := c.tables[resource.GroupVersionResource], object.DeepCopy()
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
