package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/env"
)

// touched is the annotation of another writer.
const touched = "chaos.example.com/touched"

// touch has another writer put an annotation on all parents and children, again and again, so that what hosts have read is not what there
// is.
func touch(_ context.Context, i *injection) (func(context.Context) error, error) {
	return i.meanwhile(func(ctx context.Context, random *rand.Rand) error {
		resource := []schema.GroupVersionResource{env.ConfigMaps, i.Things()}[random.IntN(2)]
		return i.withRandom(ctx, resource, random, func(name string) error {
			return ignoreNotFound(i.patch(ctx, resource, name, map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{touched: fmt.Sprint(random.Int())}},
			}))
		})
	})
}

// vandalize has another writer give children wrong values, and delete them.
func vandalize(_ context.Context, i *injection) (func(context.Context) error, error) {
	return i.meanwhile(func(ctx context.Context, random *rand.Rand) error {
		return i.withRandom(ctx, env.ConfigMaps, random, func(name string) error {
			if child, isChild := i.model().Child(name); !isChild || strings.HasPrefix(child.Parent, "ondelete") {
				return nil
			}
			if random.IntN(3) == 0 {
				return ignoreNotFound(i.In(env.ConfigMaps).Delete(ctx, name, metav1.DeleteOptions{}))
			}
			return ignoreNotFound(i.patch(ctx, env.ConfigMaps, name, map[string]any{"data": map[string]any{"value": "spoilt"}}))
		})
	})
}

// meanwhile does something again and again for a time.
func (i *injection) meanwhile(do func(ctx context.Context, random *rand.Rand) error) (func(context.Context) error, error) {
	random := rand.New(rand.NewPCG(i.seed, 1))
	return during(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, faultTime)
		defer cancel()
		for pause(ctx, pollInterval) == nil {
			if err := do(ctx, random); err != nil && ctx.Err() == nil {
				return err
			}
		}
		return nil
	}), nil
}

// withRandom calls do with the name of one of the children or parents.
func (i *injection) withRandom(
	ctx context.Context, resource schema.GroupVersionResource, random *rand.Rand, do func(name string) error,
) error {
	list, err := i.In(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var all []string
	for _, object := range list.Items {
		if _, ok := setOf(object.GetName()); ok {
			all = append(all, object.GetName())
		}
	}
	if len(all) == 0 {
		return nil
	}
	return do(all[random.IntN(len(all))])
}

// refuse has the API server's admission refuse some writes of children, by their UID or version, which change from attempt to attempt.
func refuse(ctx context.Context, i *injection) (func(context.Context) error, error) {
	name := i.Namespace + "-refuse"
	expression := fmt.Sprintf(`object.metadata.name == 'hooks' || object.metadata.name != 'probe' && !(oldObject == null ? `+
		`object.metadata.uid.endsWith('1') || object.metadata.uid.endsWith('7') : `+
		`oldObject.metadata.resourceVersion.endsWith('%d'))`, i.rand.IntN(10))
	documents := []string{fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %s}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE, UPDATE]}]
  validations: [{expression: %s}]`, name, i.Namespace, env.Quote(expression)), fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %s}
spec: {policyName: %[1]s, validationActions: [Deny]}`, name)}
	for _, document := range documents {
		if err := i.Cluster.Apply(ctx, i.Namespace, i.Parse(document)); err != nil {
			return nil, err
		}
	}
	if err := i.untilProbe(ctx, true); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		i.waitForHits(ctx, 40, faultTime)
		for _, resource := range []string{"validatingadmissionpolicybindings", "validatingadmissionpolicies"} {
			policies := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
			if err := i.Cluster.Dynamic().Resource(policies).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
		return i.untilProbe(ctx, false)
	}, nil
}

// untilProbe waits until a ConfigMap that a fault has refused is refused, or is not any more. It is not stored.
func (i *injection) untilProbe(ctx context.Context, refused bool) error {
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "probe"},
	}}
	return until(ctx, settleTimeout, func(ctx context.Context) error {
		_, err := i.In(env.ConfigMaps).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if (err != nil) == refused {
			return nil
		}
		return fmt.Errorf("the creation of a probe ends with %w", errors.Join(errors.New("the answer"), err))
	})
}

var quotas = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}

// exhaustQuota has a quota of which nothing is left. No controller works on quotas here: the status is written as that would.
func exhaustQuota(ctx context.Context, i *injection) (func(context.Context) error, error) {
	const resource = "count/configmaps"
	quota := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"name": "chaos"},
		"spec":   map[string]any{"hard": map[string]any{resource: "10"}},
		"status": map[string]any{"hard": map[string]any{resource: "10"}, "used": map[string]any{resource: "10"}},
	}}
	created, err := i.In(quotas).Create(ctx, quota, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	created.Object["status"] = quota.Object["status"]
	if _, err := i.In(quotas).UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
		return nil, err
	}
	if err := i.untilProbe(ctx, true); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		i.waitForHits(ctx, 40, faultTime)
		if err := i.In(quotas).Delete(ctx, "chaos", metav1.DeleteOptions{}); err != nil {
			return err
		}
		return i.untilProbe(ctx, false)
	}, nil
}

// forgeLease writes a lease as a host would whose clock is far ahead or behind, and which ends at once. Clocks of processes can't be set
// here.
func forgeLease(ctx context.Context, i *injection) (func(context.Context) error, error) {
	_, identity, err := i.leader(ctx)
	if err != nil {
		return nil, err
	}
	at := []string{"1970-01-02T00:00:00.000000Z", "2099-01-01T00:00:00.000000Z"}[i.rand.IntN(2)]
	i.sayf("renewed in %s", at[:4])
	return during(func(ctx context.Context) error {
		i.afterWrites(ctx)
		ghost := "ghost-" + identity
		if err := retry(ctx, func(ctx context.Context) error {
			return i.patch(ctx, leases, i.lease, map[string]any{"spec": map[string]any{"holderIdentity": ghost, "renewTime": at, "acquireTime": at}})
		}); err != nil {
			return err
		}
		return i.untilAnotherLeads(ctx, ghost)
	}), nil
}

// fillDisk leaves the folder of scripts as a writer does that finds the disk full: with half a file, an empty one, or nothing. Then it can
// write again.
func fillDisk(_ context.Context, i *injection) (func(context.Context) error, error) {
	way := i.rand.IntN(3)
	i.sayf("%s", []string{"half a file", "an empty file", "no folder"}[way])
	value := filepath.Join(i.files(), "value.js")
	next := i.edits + 1
	return during(func(ctx context.Context) error {
		var err error
		switch way {
		case 0:
			text := valueFile(next)
			err = os.WriteFile(value, []byte(text[:len(text)/2]), 0o644)
		case 1:
			err = os.WriteFile(value, nil, 0o644)
		default:
			gone := filepath.Join(i.scripts, ".gone") // At once: the edit may be writing to it.
			err = errors.Join(os.Rename(i.files(), gone), os.RemoveAll(gone))
		}
		return errors.Join(err, pause(ctx, i.between(100*time.Millisecond, faultTime)), os.MkdirAll(i.files(), 0o755), i.writeFiles(next))
	}), nil
}
