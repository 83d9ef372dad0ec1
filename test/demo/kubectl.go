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

// kubectl shows a command as one would type it, runs it, and shows what it answered.
func (d *demo) kubectl(ctx context.Context, args ...string) error {
	d.out.command(commandLine("kubectl", args...))
	answer, err := d.runKubectl(ctx, "", args...)
	d.out.answer(answer)
	return err
}

// kubectlPiped does the same for two commands of which the second reads what the first writes.
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

// runKubectl returns what the command printed: its complaints are in the error, if it failed, and else among the rest.
func (d *demo) runKubectl(ctx context.Context, input string, args ...string) (string, error) {
	binary, err := cluster.Binary("kubectl")
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, binary, append([]string{
		"--kubeconfig", d.cluster.Kubeconfig,
		// A cache of the demo's own: the user's may know another control plane under the same address, and would keep
		// this one for hours.
		"--cache-dir", filepath.Join(d.work, "kubectl-cache"),
	}, args...)...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := d.out.during("kubectl "+args[0], command.Run); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String() + stderr.String(), nil
}

var plainArgument = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// commandLine is what one types in a shell to run a program with the arguments.
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
