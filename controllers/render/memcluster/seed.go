package memcluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Seed puts an object there as it is, its status and its deletionTimestamp
// included, as though it had always been there. What is left out of its metadata
// is filled in.
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
	t.made[key]++
	if seeded.GetUID() == "" {
		seeded.SetUID(uidOf(t.Kind.Kind, key, t.made[key]))
	}
	if seeded.GetGeneration() == 0 && t.Generation {
		seeded.SetGeneration(1)
	}
	created := seeded.GetCreationTimestamp()
	if created.IsZero() {
		seeded.SetCreationTimestamp(metav1.NewTime(c.clock.Now()))
	}
	t.conform(seeded)
	c.store(t, watch.Added, seeded)
	return nil
}
