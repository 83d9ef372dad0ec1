package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"
)

// names are the programs of a release. The host comes first.
var names = []string{"libretto", "libretto-worker"}

// build builds the programs of the checkout for some platforms, with the license beside them. They do not depend on where the checkout is.
func build(ctx context.Context, root, version, programs string, platforms []platform) error {
	programs, err := filepath.Abs(programs)
	if err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return err
	}
	if err := os.RemoveAll(programs); err != nil {
		return err
	}
	for _, p := range platforms {
		fmt.Fprintln(os.Stderr, "building", p)
		folder := p.folder(programs)
		command := exec.CommandContext(ctx, cmp.Or(os.Getenv("GO"), "go"), "build", "-trimpath", "-buildvcs=auto",
			"-ldflags=-s -w -X main.version="+version, "-o", folder+string(filepath.Separator), "./cmd/...")
		command.Dir = root
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch)
		command.Stderr = os.Stderr
		if err := command.Run(); err != nil {
			return fmt.Errorf("building %s: %w", p, err)
		}
		if err := os.WriteFile(filepath.Join(folder, "LICENSE"), license, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// commit is what a program was built from.
type commit struct {
	revision string
	// time is when it was committed, or 1970 if the program was not built in a checkout.
	time time.Time
}

// commitOf returns what a build says of its commit.
func commitOf(info *debug.BuildInfo) (commit, error) {
	c := commit{time: time.Unix(0, 0).UTC()}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			c.revision = setting.Value
		case "vcs.time":
			at, err := time.Parse(time.RFC3339, setting.Value)
			if err != nil {
				return c, err
			}
			c.time = at
		}
	}
	return c, nil
}

// readCommit returns the commit of the programs in a folder.
func readCommit(folder string) (commit, error) {
	info, err := buildinfo.ReadFile(filepath.Join(folder, names[0]))
	if err != nil {
		return commit{}, err
	}
	return commitOf(info)
}
