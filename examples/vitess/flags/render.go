package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxRounds is how often all parents are rendered at most. Each round may make others ready that wait for one.
const maxRounds = 10

// rendering is one parent in the output of libretto render -o json.
type rendering struct {
	Status   any      `json:"status"`
	Children []object `json:"children"`
	Steps    []struct {
		Actions []struct {
			Action string `json:"action"`
			Object string `json:"object"`
		} `json:"actions"`
		Calls []struct {
			Hook     string `json:"hook"`
			Response struct {
				Children []object `json:"children"`
			} `json:"response"`
		} `json:"calls"`
	} `json:"steps"`
}

// parent is an object that is reconciled: the instance, or a child that has a definition of its own.
type parent struct {
	object
	children []object
	// turn says when it first had children: no parent has those that it waits for before others are ready.
	turn int
}

// renderer runs the operator offline. Libretto renders one parent at a time, so the renderer goes round until all are ready.
type renderer struct {
	libretto, example, directory string

	others  []object // What is in the file of the instance beside it.
	parents []*parent
	runs    int
}

// render returns the whole tree of the instance in a file.
func render(ctx context.Context, libretto, example, instance string) (*tree, error) {
	directory, err := os.MkdirTemp("", "vitess-flags-render")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	r := &renderer{libretto: libretto, example: example, directory: directory}
	if err := r.read(instance); err != nil {
		return nil, err
	}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	t := &tree{}
	inTurn := slices.SortedStableFunc(slices.Values(r.parents), func(a, b *parent) int { return a.turn - b.turn })
	for _, p := range inTurn {
		t.objects = append(t.objects, p.children...)
	}
	t.undo, err = r.undo(ctx)
	return t, err
}

// isParent reports whether the operator reconciles an object.
func isParent(o object) bool { return strings.HasPrefix(o.kind(), "Vitess") }

func (r *renderer) read(instance string) error {
	text, err := os.ReadFile(instance)
	if err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			return fmt.Errorf("%s: %w", instance, err)
		}
		if isParent(o) {
			r.parents = append(r.parents, &parent{object: o})
		} else if o != nil {
			r.others = append(r.others, o)
		}
	}
	if r.parents == nil {
		return fmt.Errorf("%s has no object of the operator", instance)
	}
	return nil
}

// settle renders the parents until all are ready.
func (r *renderer) settle(ctx context.Context) error {
	for range maxRounds {
		changed := false
		for i := 0; i < len(r.parents); i++ { //nolint:intrange // It grows.
			p := r.parents[i]
			if isReady(p.object) {
				continue
			}
			rendered, err := r.run(ctx, p)
			if err != nil {
				return err
			}
			changed = changed || !reflect.DeepEqual(p.object["status"], rendered.Status) || len(p.children) != len(rendered.Children)
			p.object["status"] = rendered.Status
			r.setChildren(p, inOrder(rendered))
		}
		if !changed {
			break
		}
	}
	for _, p := range r.parents {
		if !isReady(p.object) {
			return fmt.Errorf("%s does not become ready: its status is %v", p.id(), p.object["status"])
		}
	}
	return nil
}

func isReady(o object) bool {
	return slices.ContainsFunc(list(o.at("status", "conditions")), func(c any) bool {
		return at(c, "type") == "Ready" && at(c, "status") == "True"
	})
}

func (r *renderer) setChildren(p *parent, children []object) {
	if len(p.children) == 0 {
		p.turn = r.runs
	}
	p.children = children
	for _, child := range children {
		child["metadata"].(map[string]any)["namespace"] = p.namespace()
		known := slices.ContainsFunc(r.parents, func(other *parent) bool { return other.id() == child.id() })
		if isParent(child) && !known {
			r.parents = append(r.parents, &parent{object: child})
		}
	}
}

// run renders one parent, beside everything but its own children.
func (r *renderer) run(ctx context.Context, p *parent, flags ...string) (*rendering, error) {
	r.runs++
	file, err := r.write(p)
	if err != nil {
		return nil, err
	}
	name := p.kind() + "/" + p.namespace() + "/" + p.name()
	args := append([]string{"render", "-f", r.example, "-f", file, "--parent", name, "--until-settled", "-o", "json",
		"--now", "2026-01-01T00:00:00Z"}, flags...)
	command := exec.CommandContext(ctx, r.libretto, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("libretto %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	renderings, err := parsed[[]rendering](stdout.String(), nil)
	if err == nil && len(renderings) != 1 {
		err = fmt.Errorf("%d renderings, want one", len(renderings))
	}
	if err != nil {
		return nil, fmt.Errorf("libretto %s: %w", strings.Join(args, " "), err)
	}
	return &renderings[0], nil
}

// write writes the objects for the rendering of a parent to a file, and returns its path.
func (r *renderer) write(p *parent) (string, error) {
	items := slices.Clone(r.others)
	own := map[string]bool{}
	for _, child := range p.children {
		own[child.id()] = true
	}
	for _, other := range r.parents {
		if !own[other.id()] {
			items = append(items, other.object)
		}
		for _, child := range other.children {
			if other != p && !isParent(child) {
				items = append(items, child)
			}
		}
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		return "", err
	}
	file := filepath.Join(r.directory, "objects.json")
	return file, os.WriteFile(file, text, 0o644)
}

// undo returns the Jobs of the finalize hooks, those of the parents first that are deleted first.
func (r *renderer) undo(ctx context.Context) ([]object, error) {
	var order []string
	jobs := map[string][]object{}
	for _, p := range r.parents {
		deleted, err := r.run(ctx, p, "--hook", "finalize")
		if err != nil {
			return nil, err
		}
		order = append(order, p.id())
		for _, step := range deleted.Steps {
			for _, a := range step.Actions {
				kind, name, _ := strings.Cut(a.Object, " ")
				if a.Action == "delete" {
					order = append(order, kind+" "+name[strings.Index(name, "/")+1:])
				}
			}
		}
		for _, job := range jobsOf(deleted) {
			if !slices.ContainsFunc(p.children, func(o object) bool { return o.id() == job.id() }) {
				job["metadata"].(map[string]any)["namespace"] = p.namespace()
				jobs[p.id()] = append(jobs[p.id()], job)
			}
		}
	}
	var all []object
	for _, id := range order {
		all = append(all, jobs[id]...)
		delete(jobs, id)
	}
	return all, nil
}

// inOrder returns the settled children in the order in which the hooks first wanted them.
func inOrder(r *rendering) []object {
	var order []string
	for _, step := range r.Steps {
		for _, call := range step.Calls {
			for _, child := range call.Response.Children {
				order = append(order, child.id())
			}
		}
	}
	children := slices.Clone(r.Children)
	slices.SortStableFunc(children, func(a, b object) int { return slices.Index(order, a.id()) - slices.Index(order, b.id()) })
	return children
}

// jobsOf returns the Jobs that the finalize hook wants.
func jobsOf(r *rendering) []object {
	var jobs []object
	seen := map[string]bool{}
	for _, step := range r.Steps {
		for _, call := range step.Calls {
			for _, child := range call.Response.Children {
				if call.Hook == "finalize" && child.kind() == "Job" && !seen[child.id()] {
					seen[child.id()] = true
					jobs = append(jobs, child)
				}
			}
		}
	}
	return jobs
}
