package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// object is a Kubernetes object.
type object map[string]any

// at returns a value of the object, or nil.
func at(value any, path ...string) any {
	for _, field := range path {
		fields, _ := value.(map[string]any)
		value = fields[field]
	}
	return value
}

func (o object) at(path ...string) any { return at(map[string]any(o), path...) }

func (o object) text(path ...string) string { return text(o.at(path...)) }

func text(value any) string {
	text, _ := value.(string)
	return text
}

func list(value any) []any {
	values, _ := value.([]any)
	return values
}

func (o object) kind() string      { return o.text("kind") }
func (o object) name() string      { return o.text("metadata", "name") }
func (o object) namespace() string { return o.text("metadata", "namespace") }
func (o object) id() string        { return o.kind() + " " + o.name() }

// tree has all objects that the operator writes for an instance, from its creation to its deletion.
type tree struct {
	objects []object
	// undo are the Jobs that the finalize hooks write.
	undo []object
	// parents are the objects that are reconciled, from the instance down.
	parents []object
}

func (t *tree) kinds() string {
	counts := map[string]int{}
	for _, o := range t.objects {
		counts[o.kind()]++
	}
	var texts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(texts, ", ")
}

// of returns the objects of a kind in the order in which they are written.
func (t *tree) of(kind string) []object {
	var found []object
	for _, o := range append(slices.Clone(t.parents[:1]), t.objects...) {
		if o.kind() == kind {
			found = append(found, o)
		}
	}
	return found
}

// rendering is one parent in the output of libretto render -o json.
type rendering struct {
	Parent   string   `json:"parent"`
	Error    string   `json:"error"`
	Children []object `json:"children"`
	Steps    []struct {
		Calls []struct {
			Hook     string `json:"hook"`
			Response struct {
				Children []object `json:"children"`
			} `json:"response"`
		} `json:"calls"`
	} `json:"steps"`
}

// render runs the operator offline, level by level: children that have definitions of their own are the parents of the next level.
func render(ctx context.Context, libretto, example, instance string) (*tree, error) {
	directory, err := os.MkdirTemp("", "vitessflags-render")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	t := &tree{}
	for level := 1; instance != ""; level++ {
		settled, err := renderFile(ctx, libretto, example, instance)
		if err != nil {
			return nil, err
		}
		deleted, err := renderFile(ctx, libretto, example, instance, "--hook", "finalize")
		if err != nil {
			return nil, err
		}
		if instance, err = t.add(settled, deleted, filepath.Join(directory, fmt.Sprintf("level%d.json", level))); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func renderFile(ctx context.Context, libretto, example, instance string, flags ...string) ([]rendering, error) {
	args := append([]string{"render", "-f", example, "-f", instance, "--until-settled", "-o", "json"}, flags...)
	command := exec.CommandContext(ctx, libretto, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("libretto %s: %w\n%s", strings.Join(args, " "), err, &stderr)
	}
	var renderings []rendering
	if err := json.Unmarshal(stdout.Bytes(), &renderings); err != nil {
		return nil, fmt.Errorf("libretto %s: %w", strings.Join(args, " "), err)
	}
	return renderings, nil
}

// add adds one level. It writes those children that are parents to a file, and returns its path, or nothing if there are none.
func (t *tree) add(settled, deleted []rendering, file string) (string, error) {
	var next []any
	for _, r := range settled {
		kind, rest, _ := strings.Cut(r.Parent, " ")
		namespace, name, _ := strings.Cut(rest, "/")
		if len(t.parents) == 0 {
			t.parents = append(t.parents, object{"kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}})
		}
		for _, child := range inOrder(r) {
			if child.namespace() == "" {
				child["metadata"].(map[string]any)["namespace"] = namespace
			}
			t.objects = append(t.objects, child)
			if strings.HasPrefix(child.kind(), "Vitess") {
				next = append(next, child)
				t.parents = append(t.parents, child)
			}
		}
	}
	for _, r := range deleted {
		_, rest, _ := strings.Cut(r.Parent, " ")
		namespace, _, _ := strings.Cut(rest, "/")
		for _, job := range jobsOf(r) {
			job["metadata"].(map[string]any)["namespace"] = namespace
			if !slices.ContainsFunc(t.objects, func(o object) bool { return o.id() == job.id() }) {
				t.undo = append(t.undo, job)
			}
		}
	}
	if next == nil {
		return "", nil
	}
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": next})
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(file, text, 0o644)
}

// inOrder returns the settled children in the order in which the hooks first wanted them.
func inOrder(r rendering) []object {
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
func jobsOf(r rendering) []object {
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
