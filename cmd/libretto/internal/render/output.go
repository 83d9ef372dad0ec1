package render

import (
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines/webhook"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Output writes renderings. What is secret is hidden unless ShowSecrets is set.
type Output struct {
	Out         io.Writer
	ShowSecrets bool
	Colour      bool
	// Hook limits the output to a hook's requests and answers, unless it is empty.
	Hook string
}

// YAML writes the children as a stream of YAML documents that an API server takes. With a hook it writes that
// hook's answers.
func (o Output) YAML(renderings []*Rendering) error {
	separator := ""
	write := func(value any) error {
		text, err := yaml.Marshal(value)
		if err == nil {
			_, err = fmt.Fprintf(o.Out, "%s%s", separator, text)
		}
		separator = "---\n"
		return err
	}
	for _, r := range renderings {
		if o.Hook != "" {
			for _, call := range r.called(o.Hook) {
				if err := write(o.visible(r, call.Response)); err != nil {
					return err
				}
			}
			continue
		}
		for _, child := range r.Children {
			if err := write(o.manifest(r, child)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Requests writes the requests of the last calls, each as the body that a webhook gets, on a line. Without a
// hook those of all hooks but customize.
func (o Output) Requests(renderings []*Rendering) error {
	for _, r := range renderings {
		for _, call := range r.called(o.Hook) {
			request, _ := o.visible(r, call.Request).(map[string]any)
			body, err := webhook.Encode(request)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(o.Out, "%s\n", body); err != nil {
				return err
			}
		}
	}
	return nil
}

// called returns the last calls of a hook.
func (r *Rendering) called(hook string) []simulation.HookCall {
	var calls []simulation.HookCall
	for _, call := range r.answers.Calls {
		if call.Hook == hook || hook == "" && call.Hook != "customize" {
			calls = append(calls, call)
		}
	}
	return calls
}

// visible returns a value without what is secret, wherever a hook has put it.
func (o Output) visible(r *Rendering, value any) any {
	if o.ShowSecrets {
		return value
	}
	return jsonvalue.MapStrings(stage.HideSecrets(value, r.schema), r.mask)
}

// lines returns texts without what is secret.
func (o Output) lines(r *Rendering, texts []string) []string {
	if o.ShowSecrets {
		return texts
	}
	return r.maskAll(texts)
}

// status returns the parent's status in the end, or nil.
func (o Output) status(r *Rendering) any {
	if r.Parent == nil {
		return nil
	}
	parent, _ := o.visible(r, r.Parent.Object).(map[string]any)
	return parent["status"]
}

// manifest returns an object as it would be applied. Its owner is left out: the parent's UID here is not that of a
// cluster, whose garbage collector would delete the object.
func (o Output) manifest(r *Rendering, object *unstructured.Unstructured) map[string]any {
	manifest, _ := o.visible(r, merge.Managed(object.Object)).(map[string]any)
	if o.ShowSecrets || manifest == nil {
		return manifest
	}
	named := &unstructured.Unstructured{Object: manifest} // Its kind and name are no secret.
	named.SetGroupVersionKind(object.GroupVersionKind())
	named.SetNamespace(object.GetNamespace())
	named.SetName(object.GetName())
	return manifest
}

// renderingDocument is a rendering as JSON.
type renderingDocument struct {
	Definition string           `json:"definition"`
	Parent     string           `json:"parent"`
	Status     any              `json:"status,omitempty"`
	Steps      []stepDocument   `json:"steps"`
	Children   []map[string]any `json:"children"`
	Left       []Action         `json:"left,omitempty"`
	Waiting    []waitDocument   `json:"waiting,omitempty"`
	Error      string           `json:"error,omitempty"`
}

type stepDocument struct {
	Actions     []Action        `json:"actions,omitempty"`
	Calls       []callDocument  `json:"calls,omitempty"`
	Events      []eventDocument `json:"events,omitempty"`
	ResyncAfter string          `json:"resyncAfter,omitempty"`
	Error       string          `json:"error,omitempty"`
}

type eventDocument struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type waitDocument struct {
	Input   string `json:"input,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type callDocument struct {
	Hook     string   `json:"hook"`
	Subject  string   `json:"subject,omitempty"`
	Response any      `json:"response,omitempty"`
	Logs     []string `json:"logs,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// JSON writes the renderings as a list.
func (o Output) JSON(renderings []*Rendering) error {
	all := make([]renderingDocument, 0, len(renderings))
	for _, r := range renderings {
		all = append(all, o.document(r))
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(o.Out, "%s\n", text)
	}
	return err
}

func (o Output) document(r *Rendering) renderingDocument {
	d := renderingDocument{
		Definition: apply.KeyOf(r.Definition).String(), Parent: r.Name(), Error: text(r.Err()),
		Steps: []stepDocument{}, Children: []map[string]any{},
	}
	d.Status = o.status(r)
	for _, step := range r.Steps {
		s := stepDocument{Actions: o.actions(r, step), Error: text(step.Err)}
		for _, event := range step.Events {
			s.Events = append(s.Events, eventDocument(event))
		}
		if step.RequeueAfter > 0 {
			s.ResyncAfter = step.RequeueAfter.String()
		}
		for _, call := range step.Calls {
			if o.Hook == "" || o.Hook == call.Hook {
				s.Calls = append(s.Calls, callDocument{
					Hook: call.Hook, Subject: call.Subject, Response: o.visible(r, call.Response), Logs: o.lines(r, call.Logs), Error: text(call.Err),
				})
			}
		}
		d.Steps = append(d.Steps, s)
	}
	for _, child := range r.Children {
		d.Children = append(d.Children, o.manifest(r, child))
	}
	for _, wait := range r.Waits {
		d.Waiting = append(d.Waiting, waitDocument(wait))
	}
	for _, left := range r.Left {
		d.Left = append(d.Left, o.left(r, left))
	}
	return d
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
