package livecluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// ArchiveOf returns where the scripts of a definition of the cluster are archived.
func ArchiveOf(d *unstructured.Unstructured, settings *v1alpha1.DefinitionSettings, hostNamespace string) archive.Location {
	return archive.Location{
		Namespace: plan.ArchiveNamespace(settings, hostNamespace),
		Owner: metav1.OwnerReference{
			APIVersion: d.GetAPIVersion(), Kind: d.GetKind(), Name: d.GetName(), UID: d.GetUID(), Controller: new(true),
		},
	}
}

// archived returns a definition of the cluster with the scripts of an archived revision in the place of its sources.
func (c *Config) archived(ctx context.Context, d *unstructured.Unstructured, id string, in surroundings) (*Subject, error) {
	var settings v1alpha1.DefinitionSettings
	if err := fieldsOf(d, "spec", &settings); err != nil {
		return nil, err
	}
	history := archive.History{Location: ArchiveOf(d, &settings, c.HostNamespace), Client: c.Kubernetes}
	stored, err := history.Load(ctx, id)
	switch {
	case apierrors.IsForbidden(err):
		resource := schema.GroupResource{Group: appsv1.GroupName, Resource: "controllerrevisions"}
		return nil, &ForbiddenError{Verb: "get", Resource: resource, Namespace: history.Namespace}
	case err != nil:
		return nil, err
	}
	own := *c
	if own.Set, err = manifest.Load(ctx, manifest.Options{}); err != nil {
		return nil, err
	}
	changed, err := withArchived(d, cmp.Or(history.Namespace, metav1.NamespaceDefault), id, stored, &own)
	if err != nil {
		return nil, err
	}
	s, err := own.subject(ctx, own.Set.Definitions[0], changed, in)
	switch {
	case err != nil:
		return nil, fmt.Errorf("revision %s does not load any more: %w", archive.ShortID(id), err)
	case !s.Revision.IsKnownAs(scripts.RevisionID(id)):
		return nil, fmt.Errorf("what is archived of revision %s has other files or settings", archive.ShortID(id))
	}
	return s, nil
}

// withArchived adds to the set a definition whose scripts are those of an archived revision, and the ConfigMap that has them.
func withArchived(d *unstructured.Unstructured, namespace, id string, r archive.Revision, c *Config) (*unstructured.Unstructured, error) {
	changed := d.DeepCopy()
	spec, _ := changed.Object["spec"].(map[string]any)
	if err := putHooks(spec, r.Hooks); err != nil {
		return nil, fmt.Errorf("revision %s: %w", archive.ShortID(id), err)
	}
	delete(spec, "scriptSources")
	if len(r.Files) > 0 {
		name := d.GetName() + "-" + archive.ShortID(id)
		data, items := keysOf(r.Files)
		spec["scriptSources"] = []any{map[string]any{"configMap": map[string]any{"namespace": namespace, "name": name, "items": items}}}
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data}}
		object.SetNamespace(namespace)
		object.SetName(name)
		c.Set.AddStored(object)
	}
	c.Set.AddStored(changed)
	return changed, nil
}

// putHooks gives a definition the settings of the scripts that an archived revision has.
func putHooks(spec map[string]any, encoded []byte) error {
	var archived map[string]struct {
		Path, Inline, Engine, Function, Signature string
		Parameters                                any
		MemoryBytes                               int64
	}
	if err := json.Unmarshal(encoded, &archived); err != nil {
		return fmt.Errorf("hooks: %w", err)
	}
	hooks, _ := spec["hooks"].(map[string]any)
	var present []string
	for name, hook := range hooks {
		if fields, _ := hook.(map[string]any); fields["script"] != nil {
			present = append(present, name)
		}
	}
	slices.Sort(present)
	if names := slices.Sorted(maps.Keys(archived)); !slices.Equal(names, present) {
		return fmt.Errorf("its scripts are of the hooks %q, and those of the definition now of %q", names, present)
	}
	for name, h := range archived {
		fields, _ := hooks[name].(map[string]any)
		script, _ := fields["script"].(map[string]any)
		for field, value := range map[string]any{
			"path": h.Path, "inline": h.Inline, "engine": h.Engine, "function": h.Function, "signature": h.Signature, "parameters": h.Parameters,
		} {
			if script[field] = value; value == "" || value == nil {
				delete(script, field)
			}
		}
		if script["limits"] = map[string]any{"memory": strconv.FormatInt(h.MemoryBytes, 10)}; h.MemoryBytes == v1alpha1.DefaultScriptMemory {
			delete(script, "limits")
		}
	}
	return nil
}

// notInKeys matches what the keys of ConfigMaps can't have.
var notInKeys = regexp.MustCompile(`[^-._a-zA-Z0-9]+`)

// keysOf returns the data of a ConfigMap with files of any path, and where each key is to be put.
func keysOf(files map[string]string) (data map[string]any, items []any) {
	data = map[string]any{}
	for i, file := range slices.Sorted(maps.Keys(files)) {
		key := notInKeys.ReplaceAllString(file, "_")
		if _, taken := data[key]; taken || len(key) > 200 || strings.Trim(key, ".") == "" {
			key = fmt.Sprintf("file-%d%s", i, path.Ext(key))
		}
		data[key] = files[file]
		items = append(items, map[string]any{"key": key, "path": file})
	}
	return data, items
}
