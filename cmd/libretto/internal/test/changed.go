package test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
)

// changedFiles returns the files that are not as in a commit of the git repository of the present folder, relative to that and absolute:
// those that were edited, added or removed since, and those that git does not know and does not ignore.
func changedFiles(ctx context.Context, ref string) ([]string, error) {
	if ref == "" || strings.HasPrefix(ref, "-") {
		return nil, fmt.Errorf("--changed=%s: must be a commit, a branch or a tag", ref)
	}
	top, err := git(ctx, "rev-parse", "--show-cdup")
	if err != nil {
		return nil, err
	}
	edited, err := git(ctx, "diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", ref, "--")
	if err != nil {
		return nil, err
	}
	unknown, err := git(ctx, "ls-files", "--others", "--exclude-standard", "--full-name", "-z", ":/")
	if err != nil {
		return nil, err
	}
	present, err := os.Getwd()
	var all []string
	for name := range strings.SplitSeq(edited+unknown, "\x00") {
		if name != "" {
			relative := filepath.Join(strings.TrimSpace(top), filepath.FromSlash(name))
			all = append(all, relative, filepath.Join(present, relative))
		}
	}
	return all, err
}

// git returns what a command of git prints.
func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("--changed: git %s: %s", args[0], strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("--changed: %w", err)
	}
	return string(out), nil
}

// selectChanged leaves out tests of functions that depend on no changed file, and makes runs leave out such cases.
func (t *testRun) selectChanged(ctx context.Context, found *suite.Found) error {
	changed, err := changedFiles(ctx, t.changed)
	if err != nil {
		return err
	}
	t.concerns = func(inputs suite.Inputs) bool { return slices.ContainsFunc(changed, inputs.DependOn) }
	found.Functions = slices.DeleteFunc(found.Functions, func(file string) bool {
		return !slices.ContainsFunc(changed, func(name string) bool {
			below, err := filepath.Rel(filepath.Dir(file), name) // The module tree of a test is its folder.
			return err == nil && filepath.IsLocal(below)
		})
	})
	return nil
}
