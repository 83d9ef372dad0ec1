package main

import (
	"strings"
)

// invocation is a command line in a manifest.
type invocation struct {
	owner   object // The object that the manifest writes, such as a Deployment.
	where   string // The container, or the hook in it.
	program string
	args    []string
	// container and pod are the parts of the manifest around it.
	container, pod map[string]any
}

// podSpec returns the spec of the Pods of an object, or nil.
func podSpec(o object) map[string]any {
	path := []string{"spec", "template", "spec"}
	if o.kind() == "Pod" {
		path = []string{"spec"}
	}
	spec, _ := o.at(path...).(map[string]any)
	if list(spec["containers"]) == nil {
		return nil
	}
	return spec
}

// invocationsOf returns all command lines of an object: of init containers first, as they run first.
func invocationsOf(o object) []invocation {
	spec := podSpec(o)
	var found []invocation
	for _, entry := range append(list(spec["initContainers"]), list(spec["containers"])...) {
		container, _ := entry.(map[string]any)
		name := text(container["name"])
		add := func(where string, words ...any) {
			if len(words) == 0 {
				return // The image decides.
			}
			i := invocation{owner: o, where: name + where, program: text(words[0]), container: container, pod: spec}
			for _, word := range words[1:] {
				i.args = append(i.args, text(word))
			}
			found = append(found, i)
		}
		add("", append(list(container["command"]), list(container["args"])...)...)
		for _, hook := range []string{"postStart", "preStop"} {
			add(" "+hook, list(at(container, "lifecycle", hook, "exec", "command"))...)
		}
		for _, probe := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
			add(" "+probe, list(at(container, probe, "exec", "command"))...)
		}
	}
	return found
}

// flagNames returns the names of the flags among arguments, without dashes.
func flagNames(args []string) []string {
	var names []string
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") && strings.Trim(arg, "-") != "" {
			name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			names = append(names, name)
		}
	}
	return names
}
