package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// names are the programs of a release. The host comes first.
var names = []string{"libretto", "libretto-worker"}

// build builds the programs of the checkout for some platforms, with their licenses beside them. They do not depend on where the checkout
// is.
func build(ctx context.Context, root, version string, c commit, programs string, platforms []platform) error {
	programs, err := filepath.Abs(programs)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(programs); err != nil {
		return err
	}
	for _, p := range platforms {
		fmt.Fprintln(os.Stderr, "building", p)
		folder := p.folder(programs)
		command := goCommand(ctx, root, p, "build", "-trimpath", "-buildvcs=false",
			"-ldflags=-s -w -X main.version="+version+" -X main.commit="+c.revision, "-o", folder+string(filepath.Separator), "./cmd/...")
		if err := command.Run(); err != nil {
			return fmt.Errorf("building %s: %w", p, err)
		}
		if err := writeLicenses(ctx, root, p, folder); err != nil {
			return err
		}
	}
	return nil
}

// goCommand returns the go command in the checkout, for a platform.
func goCommand(ctx context.Context, root string, p platform, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, cmp.Or(os.Getenv("GO"), "go"), args...)
	command.Dir, command.Stderr = root, os.Stderr
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.OS, "GOARCH="+p.Arch)
	return command
}

// commit is what programs are built from.
type commit struct {
	revision string
	// time is when it was committed, or 1970 if there is no repository, as in an archive of the sources.
	time time.Time
}

// readCommit returns the commit of a checkout. Programs are not asked for theirs: in a worktree of git the compiler writes none.
func readCommit(ctx context.Context, root string) (commit, error) {
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return commit{time: time.Unix(0, 0).UTC()}, nil
	}
	command := exec.CommandContext(ctx, "git", "log", "-1", "--format=%H %ct")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return commit{}, fmt.Errorf("git log: %w", err)
	}
	c, seconds := commit{}, int64(0)
	_, err = fmt.Sscan(string(out), &c.revision, &seconds)
	c.time = time.Unix(seconds, 0).UTC()
	return c, err
}
