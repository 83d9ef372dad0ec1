package render

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Rendering is what a host would do for one parent.
type Rendering struct {
	Definition *unstructured.Unstructured
	// Object is the parent as it was given, and Parent as it is in the end, or nil if it is gone.
	Object, Parent *unstructured.Unstructured
	// Given are the objects of the files, the parent among them, without ConfigMaps that scripts are from.
	Given []*unstructured.Unstructured
	// Before are the passes until the hook was due that was asked for, and Steps those after.
	Before, Steps []simulation.Result
	// Children are the objects that the parent controls in the end, in the order of the definition's rules.
	Children []*unstructured.Unstructured
	// Left are the children that differ from what the hooks want, in the end.
	Left []Left
	// Waits are what the hooks answered last that they wait for.
	Waits []variant.Wait

	gone    bool
	uid     types.UID
	schema  func(schema.GroupVersionKind) *openapi.Kind
	answers stage.Answers
	masker  *jsonvalue.Masker
}

// mask hides in a text what the Secrets hold that were given or written, and what schemas call passwords.
func (r *Rendering) mask(text string) string {
	if r.masker == nil {
		objects := slices.Clone(r.Given)
		for _, step := range slices.Concat(r.Before, r.Steps) {
			for _, write := range step.Writes {
				objects = append(objects, &unstructured.Unstructured{Object: write.Sent})
				if write.After != nil {
					objects = append(objects, write.After)
				}
			}
		}
		r.masker = jsonvalue.NewMasker(stage.SecretTexts(objects, r.schema))
	}
	return r.masker.Mask(text)
}

// maskAll is mask for several texts.
func (r *Rendering) maskAll(texts []string) (masked []string) {
	for _, text := range texts {
		masked = append(masked, r.mask(text))
	}
	return masked
}

// Left is a child that was left as it is.
type Left struct {
	apply.Change
	// Method is the definition's.
	Method apply.Method
	// Rolling is set if the definition has rolling updates.
	Rolling bool
}

// Name returns the parent's kind, namespace and name.
func (r *Rendering) Name() string {
	return apply.KeyOf(r.Object).String()
}

// add adds a pass.
func (r *Rendering) add(result simulation.Result) stage.PassResult {
	r.Steps = append(r.Steps, result)
	r.answers.Add(result)
	if r.Parent, r.gone = result.Parent, result.Parent == nil; !r.gone {
		r.uid = r.Parent.GetUID()
	}
	return stage.PassResultOf(result)
}

// last returns the last pass, or nil.
func (r *Rendering) last() *simulation.Result {
	if len(r.Steps) == 0 {
		return nil
	}
	return &r.Steps[len(r.Steps)-1]
}

// Err returns the error of the last pass, unless it only asks for another one.
func (r *Rendering) Err() error {
	last := r.last()
	if last == nil || errors.Is(last.Err, controller.ErrLater) {
		return nil
	}
	return last.Err
}

// finish reads the children as they are at the end.
func (r *renderer) finish(ctx context.Context, rendering *Rendering) error {
	rules := r.stage.Plan.Config.Children
	byRule := make([][]*unstructured.Unstructured, len(rules))
	for _, object := range r.stage.session.Cluster().Objects() {
		owner := metav1.GetControllerOf(object)
		if owner == nil || owner.UID != rendering.uid {
			continue
		}
		for i, rule := range rules {
			if rule.Kind == object.GroupVersionKind() {
				byRule[i] = append(byRule[i], object)
			}
		}
	}
	for _, objects := range byRule {
		rendering.Children = append(rendering.Children, objects...)
	}
	if rendering.gone {
		return nil
	}
	rendering.Waits = r.stage.session.Waits(rendering.Parent)
	changes, err := rendering.answers.Unapplied(ctx, r.stage.session, rendering.Parent)
	if err != nil {
		return fmt.Errorf("%s: %w", rendering.Name(), err)
	}
	for _, change := range changes {
		left := Left{Change: change, Rolling: r.stage.Plan.Config.Revisions.Resource != nil}
		for _, rule := range rules {
			if rule.Kind == change.Key.Kind {
				left.Method = rule.Method
			}
		}
		rendering.Left = append(rendering.Left, left)
	}
	return nil
}
