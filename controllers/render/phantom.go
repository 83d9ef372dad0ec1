package render

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// A phantom is an object that is only ever announced: a parent that comes, has a
// child or an input for a moment, and goes. The events of one resource are
// handled in their order, so that once the reconciler has asked for a look at the
// phantom, it has handled all that came before.
const (
	phantomPrefix = "~"
	phantomParent = phantomPrefix + "parent"
	phantomChild  = phantomPrefix + "child"
	phantomInput  = phantomPrefix + "input"
)

// isPhantomName says whether a name is a phantom's: no object may have it.
func isPhantomName(name string) bool { return strings.HasPrefix(name, phantomPrefix) }

// admitPhantoms has a definition take phantoms for its own. No pass is made over one.
func admitPhantoms(config *parent.Config) {
	for i := range config.Parents {
		selects := config.Parents[i].Selects
		config.Parents[i].Selects = func(o *unstructured.Unstructured) bool {
			if isPhantomName(o.GetName()) {
				return o.GetName() == phantomParent
			}
			return selects(o)
		}
	}
	for i := range config.Inputs {
		selects := config.Inputs[i].Selects
		config.Inputs[i].Selects = func(p, input *unstructured.Unstructured, labelsOf func(string) labels.Set) bool {
			if isPhantomName(p.GetName()) || isPhantomName(input.GetName()) {
				return p.GetName() == phantomParent && input.GetName() == phantomInput
			}
			return selects(p, input, labelsOf)
		}
	}
	if selector := config.Selector; selector != nil {
		config.Selector = func(p *unstructured.Unstructured) (labels.Selector, error) {
			if isPhantomName(p.GetName()) {
				return labels.SelectorFromSet(labels.Set{"phantom": phantomInput}), nil
			}
			return selector(p)
		}
	}
}

// phantom makes a phantom of a kind, in a namespace if the parents are in one.
func phantom(kind schema.GroupVersionKind, namespaced bool, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetName(name)
	o.SetUID(types.UID(name))
	if namespaced {
		o.SetNamespace(phantomPrefix)
	}
	return o
}

// phantomOf makes a phantom child or input of a rule's phantom parent.
func phantomOf(rule variant.ParentRule, kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	o := phantom(kind, rule.Namespaced, name)
	if name == phantomInput {
		o.SetLabels(map[string]string{"phantom": phantomInput})
	} else {
		o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(phantom(rule.Kind, rule.Namespaced, phantomParent), rule.Kind)})
	}
	return o
}

func phantomKey(rule variant.ParentRule) controller.Key {
	o := phantom(rule.Kind, rule.Namespaced, phantomParent)
	return controller.Key{Kind: rule.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}
}
