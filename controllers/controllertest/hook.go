package controllertest

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// callHook calls the hook of the case, and compares the response.
func (r *runner) callHook(ctx context.Context) error {
	if r.base.Refusal != nil {
		return r.base.Refusal
	}
	if err := r.useResponses(".webhooks", r.testCase.Webhooks); err != nil {
		return err
	}
	programs, err := r.newPrograms(ctx)
	if err != nil {
		return err
	}
	plan := r.base.Plan
	i := slices.IndexFunc(plan.Hooks, func(named v1alpha1.NamedHook) bool { return string(named.Name) == r.testCase.Hook })
	program := programs[r.testCase.Hook]
	if i < 0 || program == nil {
		var names []string
		for _, named := range plan.Hooks {
			names = append(names, string(named.Name))
		}
		return r.unusable(".hook", "the definition has no hook %s: it has %s", r.testCase.Hook, listed(names))
	}
	script := plan.Hooks[i].Hook.Script
	if r.request, err = r.givenRequest(); err != nil {
		return err
	}
	if _, given := r.request["parameters"]; given && script != nil && script.Parameters != nil {
		return r.unusable(".request.parameters", "the script gets the parameters of the definition, and not those of the request: write them as "+
			"definitionPatch: {spec: {hooks: {%s: {script: {parameters: ...}}}}}", r.testCase.Hook)
	}
	request := r.hookRequest(plan)
	ctx, cancel := engines.WithTimeout(ctx, hooks.CallTimeout(plan.Hooks[i].Hook))
	defer cancel()
	response, err := program.Run(ctx, engines.Call{
		Request: request, Now: r.clock.Now(), Seed: r.testCase.Name, Owner: plan.Config.Definition, Origin: engines.Origin{ID: r.testCase.Name},
	})
	r.result.Logs = response.Logs
	r.compareResponse(response.Body, err)
	if err != nil {
		return nil
	}
	return r.compareFile(".golden", r.testCase.Golden, "the response", func(any) string {
		return inlineYAML(stage.HideSecrets(response.Body, r.schemaOf)) + "\n"
	})
}

// compareResponse compares what a hook returned with what the case wants.
func (r *runner) compareResponse(body any, err error) {
	c := r.testCase
	switch {
	case c.Fails != "" && err == nil:
		r.fail(Failure{Location: r.place(".fails"), Message: "the hook did not fail, want an error that matches " + c.Fails})
	case c.Fails != "" && !regexp.MustCompile(c.Fails).MatchString(err.Error()):
		r.fail(Failure{
			Location: r.place(".fails"), Message: "the hook fails with another error than " + c.Fails + ": " + err.Error(), Script: scriptPlace(err),
		})
	case c.Fails != "":
	case err != nil:
		r.fail(Failure{Location: c.Location, Message: "the hook fails: " + err.Error(), Script: scriptPlace(err)})
	case c.Response != nil:
		r.comparePart(".response", "the response", c.Response, body)
	}
}

// givenRequest returns the part of the request that the case has, or that its file has.
func (r *runner) givenRequest() (map[string]any, error) {
	given := r.testCase.Request
	switch {
	case given == nil:
		return nil, nil
	case given.File == "":
		return given.Object, nil
	}
	text, err := r.readFile(given.File)
	if err != nil {
		return nil, r.unusable(".request", "request: %w", err)
	}
	request, err := document.ReadObject(given.File, text)
	if err != nil {
		return nil, r.unusable(".request", "request: %w", err)
	}
	return request, r.spend(request)
}

// hookRequest returns the request of the case with what every request has.
func (r *runner) hookRequest(plan *plan.Plan) map[string]any {
	controller, _ := jsonvalue.Without(r.base.Definition.Object, "status")
	controller["status"] = map[string]any{}
	request := map[string]any{"controller": controller}
	about := "parent"
	if r.base.Definition.GetKind() == v1alpha1.DecoratorControllerKind && r.testCase.Hook != string(v1alpha1.CustomizeHook) {
		about = "object"
	}
	request[about] = r.hookParent(plan, jsonvalue.ObjectIn(r.request, about))
	if r.testCase.Hook != string(v1alpha1.CustomizeHook) {
		r.addRelated(plan, request)
	}
	return jsonvalue.MergePatch(request, jsonvalue.Clone(r.request))
}

// addRelated adds what all requests have but those of the customize hook.
func (r *runner) addRelated(plan *plan.Plan, request map[string]any) {
	children := "children"
	switch r.base.Definition.GetKind() {
	case v1alpha1.DecoratorControllerKind:
		children = "attachments"
	case v1alpha1.MapControllerKind:
		children = "outputs"
	}
	groups := map[string]any{}
	for _, rule := range plan.Config.Children {
		groups[variant.GroupKey(rule.Kind)] = map[string]any{}
	}
	request[children], request["related"] = groups, map[string]any{}
	finalizes := r.testCase.Hook == string(v1alpha1.FinalizeHook)
	if children != "outputs" || finalizes {
		request["finalizing"] = finalizes
	}
}

// hookParent returns what every parent has. given is the part that the case has of it.
func (r *runner) hookParent(plan *plan.Plan, given map[string]any) map[string]any {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	for _, rule := range plan.Config.Parents {
		if kind, _ := given["kind"].(string); kind != "" && kind != rule.Kind.Kind {
			continue
		}
		object.SetGroupVersionKind(rule.Kind)
		if rule.Namespaced {
			object.SetNamespace(r.namespace())
		}
		name, _ := jsonvalue.ObjectIn(given, "metadata")["name"].(string)
		object.SetUID(types.UID(strings.ToLower(rule.Kind.Kind) + "." + name))
		break
	}
	object.SetResourceVersion("1")
	object.SetGeneration(1)
	metadata, _ := object.Object["metadata"].(map[string]any)
	metadata["creationTimestamp"] = r.clock.Now().UTC().Format("2006-01-02T15:04:05Z")
	return object.Object
}
