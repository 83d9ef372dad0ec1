package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// kubectl prints a command, runs it and prints its output.
func (d *demo) kubectl(ctx context.Context, args ...string) error {
	d.out.command(commandLine("kubectl", args...))
	answer, err := d.runKubectl(ctx, "", args...)
	d.out.answer(answer)
	return err
}

// kubectlPiped does the same for a pipe of two commands.
func (d *demo) kubectlPiped(ctx context.Context, first, second []string) error {
	d.out.command(commandLine("kubectl", first...) + " | " + commandLine("kubectl", second...))
	piped, err := d.runKubectl(ctx, "", first...)
	if err != nil {
		return err
	}
	answer, err := d.runKubectl(ctx, piped, second...)
	d.out.answer(answer)
	return err
}

// runKubectl returns the output of a command. If it fails, stderr is in the error.
func (d *demo) runKubectl(ctx context.Context, input string, args ...string) (string, error) {
	binary, err := cluster.Binary("kubectl")
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, binary, append([]string{
		"--kubeconfig", d.cluster.Kubeconfig,
		// The user's cache may have an earlier control plane at the same address.
		"--cache-dir", filepath.Join(d.workDir, "kubectl-cache"),
	}, args...)...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := d.out.withProgress("kubectl "+args[0], command.Run); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String() + stderr.String(), nil
}

var plainArgument = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// commandLine returns a command line quoted for a shell.
func commandLine(program string, args ...string) string {
	words := []string{program}
	for _, arg := range args {
		if !plainArgument.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
