package livecluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/scripts"
)

// ErrBroken is that scripts have no revision, as a host that reads them does not load them.
var ErrBroken = errors.New("they do not load")

// Identify returns the ID of the scripts of a definition of the cluster with what the set has of it, and named reports whether that is
// anything. The ID is empty if no hook is a script.
func (c *Config) Identify(ctx context.Context, d *unstructured.Unstructured) (id scripts.RevisionID, named bool, err error) {
	isIt := func(o *document.Object) bool { return o.GetKind() == d.GetKind() && o.GetName() == d.GetName() }
	i, given := slices.IndexFunc(c.Set.Definitions, isIt), c.Set.ConfigMaps()
	if named = i >= 0; !named {
		c.Set.AddStored(d.DeepCopy())
		i = slices.IndexFunc(c.Set.Definitions, isIt)
	}
	spec, err := check.Scripts(c.Set, c.Set.Definitions[i])
	if err != nil {
		return "", named, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if err := c.addSources(ctx, spec); err != nil || len(spec.Hooks) == 0 {
		return "", named, err
	}
	for _, source := range spec.Sources {
		origin := source.Origin()
		if err := c.Set.Contents(origin).Err; err != nil && origin.ConfigMap.Name == "" {
			return "", named, fmt.Errorf("%s: %w", origin, err)
		}
		named = named || slices.Contains(given, origin.ConfigMap) || slices.Contains(c.Set.Replaced(), origin.Object())
	}
	if id, err = scripts.Identify(c.Engines, spec, c.Set.Contents); err != nil {
		err = fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return id, named, err
}
