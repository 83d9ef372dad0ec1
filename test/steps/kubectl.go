package steps

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// Kubectl runs commands of kubectl on a cluster, and prints them with their output.
type Kubectl struct {
	Out        *Report
	Kubeconfig string
	CacheDir   string // The user's own cache may have an earlier control plane at the same address.
}

// Run prints a command, runs it and prints its output.
func (k Kubectl) Run(ctx context.Context, args ...string) error {
	k.Out.Command(CommandLine("kubectl", args...))
	answer, err := k.Output(ctx, "", args...)
	k.Out.Answer(answer)
	return err
}

// RunPiped does the same for a pipe of two commands.
func (k Kubectl) RunPiped(ctx context.Context, first, second []string) error {
	k.Out.Command(CommandLine("kubectl", first...) + " | " + CommandLine("kubectl", second...))
	piped, err := k.Output(ctx, "", first...)
	if err != nil {
		return err
	}
	answer, err := k.Output(ctx, piped, second...)
	k.Out.Answer(answer)
	return err
}

// Output returns the output of a command. If it fails, stderr is in the error.
func (k Kubectl) Output(ctx context.Context, input string, args ...string) (string, error) {
	binary, err := cluster.Binary("kubectl")
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, binary, append([]string{"--kubeconfig", k.Kubeconfig, "--cache-dir", k.CacheDir}, args...)...)
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := k.Out.WithProgress("kubectl "+args[0], command.Run); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String() + stderr.String(), nil
}

var plainArgument = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// CommandLine returns a command line quoted for a shell.
func CommandLine(program string, args ...string) string {
	words := []string{program}
	for _, arg := range args {
		if !plainArgument.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
