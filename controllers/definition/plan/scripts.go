package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// Scripts returns the part of the definition that is about scripts. It has no hooks if none is a script.
func (p *Plan) Scripts() (scripts.Spec, error) {
	spec := scripts.Spec{
		Definition: p.Config.Definition, Sources: sourcesOf(p.Settings.ScriptSources), Hooks: map[string]scripts.Hook{},
		Object: p.object, IgnoreTests: p.Settings.ScriptTests == v1alpha1.IgnoreScriptTests,
	}
	for _, named := range p.Hooks {
		if named.Hook.Script == nil {
			continue
		}
		hook, err := scriptOf(named.Hook.Script)
		if err != nil {
			return spec, fmt.Errorf("spec.hooks.%s: %w", named.Name, err)
		}
		spec.Hooks[string(named.Name)] = hook
	}
	return spec, nil
}

func sourcesOf(sources []v1alpha1.ScriptSource) []scripts.Source {
	result := make([]scripts.Source, 0, len(sources))
	for _, source := range sources {
		if source.Directory != nil {
			result = append(result, scripts.Source{Directory: &scripts.Directory{Path: string(source.Directory.Path)}})
		}
		if flux := source.Flux; flux != nil {
			object := scripts.ObjectName{Kind: flux.Kind, NamespacedName: types.NamespacedName{Namespace: flux.Namespace, Name: flux.Name}}
			origin := scripts.FluxOrigin{ObjectName: object, Path: string(flux.Path)}
			result = append(result, scripts.Source{Flux: &scripts.Flux{FluxOrigin: origin, Prefix: string(flux.Prefix)}})
		}
		if source.ConfigMap == nil {
			continue
		}
		c := &scripts.ConfigMap{Namespace: source.ConfigMap.Namespace, Name: source.ConfigMap.Name, Prefix: string(source.ConfigMap.Prefix)}
		for _, item := range source.ConfigMap.Items {
			c.Items = append(c.Items, scripts.Item{Key: item.Key, Path: string(item.Path)})
		}
		result = append(result, scripts.Source{ConfigMap: c})
	}
	return result
}

func scriptOf(script *v1alpha1.Script) (scripts.Hook, error) {
	hook := scripts.Hook{
		Path: string(script.Path), Inline: script.Inline, Engine: string(script.Engine),
		Function: script.Function, Signature: engines.Signature(script.CallSignature()), MemoryBytes: script.MemoryLimit(),
	}
	if script.Parameters == nil {
		return hook, nil
	}
	if err := json.Unmarshal(script.Parameters.Raw, &hook.Parameters); err != nil {
		return hook, fmt.Errorf("script.parameters: %w", err)
	}
	return hook, nil
}

// ScriptNames returns the names of the hooks that scripts answer.
func ScriptNames(named []v1alpha1.NamedHook) []string {
	var names []string
	for _, n := range named {
		if n.Hook.Script != nil {
			names = append(names, string(n.Name))
		}
	}
	slices.Sort(names)
	return names
}

// ArchiveNamespace returns where a host in the namespace own archives the scripts of a definition: in the namespace of all of its sources.
// If there are several namespaces or a directory, it is that of the definition's account, or the host's own: text must not be copied into a
// namespace with other readers.
func ArchiveNamespace(settings *v1alpha1.DefinitionSettings, own string) string {
	own, sources := Home(settings, own), settings.ScriptSources
	namespace := ""
	for _, source := range sourcesOf(sources) {
		of := source.Origin().Object().Namespace
		if of == "" || namespace != "" && namespace != of {
			return own
		}
		namespace = of
	}
	if namespace == "" {
		return own
	}
	return namespace
}

// Home returns the namespace of what a definition stores that belongs to no other: its account's, or the host's own.
func Home(settings *v1alpha1.DefinitionSettings, own string) string {
	if ref := settings.ServiceAccountRef; ref != nil {
		return ref.Namespace
	}
	return own
}

// CallsWebhooks reports whether previews of the plan call a server.
func (p *Plan) CallsWebhooks() bool {
	return slices.ContainsFunc(p.Hooks, func(named v1alpha1.NamedHook) bool { return named.Hook.IsPreviewable() })
}
