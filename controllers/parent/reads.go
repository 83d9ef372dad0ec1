package parent

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/parent/related"
)

// checkReads returns an error unless the account of the definition may list and watch objects of a resource where they are. The caches are
// filled by the host's account, so that it is called before hooks are shown an object.
func (p *pass) checkReads(ctx context.Context, resource schema.GroupVersionResource, objects ...*unstructured.Unstructured) error {
	if p.config.Account.IsHost() || p.env.Access == nil {
		return nil
	}
	for i, object := range objects {
		namespace := object.GetNamespace()
		if i > 0 && objects[i-1].GetNamespace() == namespace {
			continue
		}
		if err := p.env.Access.MayRead(ctx, resource, namespace); err != nil {
			return err
		}
	}
	return nil
}

// checkRelated is checkReads for the related objects of rules. A rule needs the right to read where it looks, as that there is nothing is an
// answer too.
func (p *pass) checkRelated(ctx context.Context, rules []*related.Rule, found []*unstructured.Unstructured) error {
	if p.config.Account.IsHost() || p.env.Access == nil {
		return nil
	}
	for _, rule := range rules {
		namespace, is := rule.Namespace()
		if is {
			if err := p.env.Access.MayRead(ctx, rule.Resource().GroupVersionResource, namespace); err != nil {
				return err
			}
			continue
		}
		ofKind := slices.DeleteFunc(slices.Clone(found), func(o *unstructured.Unstructured) bool { return o.GroupVersionKind() != rule.Resource().Kind })
		if err := p.checkReads(ctx, rule.Resource().GroupVersionResource, ofKind...); err != nil {
			return err
		}
	}
	return nil
}
