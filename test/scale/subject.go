package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// The strategies of writing children.
const (
	applyDynamic    = "dynamic-apply"
	applyServerSide = "server-side-apply"
)

// The names of subjects.
const (
	directName   = "direct"
	librettoName = "libretto"
	accountName  = "account"
	comparedName = "compared"
	hostName     = "host"
)

// subject is a program that is measured.
type subject struct {
	name string
	why  string
	args []string
	// libretto is whether the program is one, with its metrics and probes.
	libretto bool
	// direct is whether the program is this one, which writes without reading any definition.
	direct bool
	// account is whether definitions name a ServiceAccount.
	account bool
}

// withAccount returns the subject with definitions that name a ServiceAccount.
func (s subject) withAccount() subject {
	s.name, s.account = strings.TrimPrefix(s.name+" "+accountName, librettoName+" "), true
	return s
}

func directSubject(binary string, o *options) subject {
	return subject{
		name:   directName,
		why:    "The same writes, by a program that has the same watches and does nothing else.",
		args:   []string{binary, directRole, "-apply=" + o.apply, "-workers=" + strconv.Itoa(o.workers), "-writes=" + strconv.Itoa(o.writes)},
		direct: true,
	}
}

func librettoSubject(name, dir string, o *options) subject {
	args := []string{
		filepath.Join(dir, "libretto"), "serve", "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0",
		"--kube-api-qps=-1", "--reload-spread=100us", "--apply-strategy=" + o.apply,
		"--workers=" + strconv.Itoa(o.workers), "--concurrent-writes=" + strconv.Itoa(o.writes),
	}
	if o.profiles != "" {
		args = append(args, "--profiling-bind-address=127.0.0.1:0")
	}
	args = append(args, strings.Fields(o.serveFlags)...)
	return subject{name: name, why: strings.Join(args[1:], " "), args: args, libretto: true}
}

func hostSubject(command string) subject {
	return subject{name: hostName, why: command, args: []string{"/bin/sh", "-c", "exec " + command}}
}

// host is a running subject.
type host struct {
	*cluster.Program
	subject subject
	logFile string
}

// hostLimit is how long a host may take to be ready.
const hostLimit = time.Minute

// startHost starts a subject, and returns when it is ready, as far as it can be asked.
func startHost(ctx context.Context, s subject, kubeconfig, logFile string) (*host, error) {
	h, err := launchHost(s, kubeconfig, logFile)
	if err != nil {
		return nil, err
	}
	if err := h.waitUntilReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w\n%s", s.name, err, h.log()), h.Kill())
	}
	return h, nil
}

// launchHost starts a subject. Its log goes to a file, which costs this process nothing.
func launchHost(s subject, kubeconfig, logFile string) (*host, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	command := exec.Command(s.args[0], s.args[1:]...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	command.Stdout, command.Stderr = log, log
	program, err := cluster.StartProgram(command)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return &host{Program: program, subject: s, logFile: logFile}, nil
}

func (h *host) waitUntilReady(ctx context.Context) error {
	if !h.subject.libretto {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostLimit)
	defer cancel()
	return poll(ctx, 20*time.Millisecond, func() (bool, error) {
		if h.Ended() {
			return false, errors.New("it did not start")
		}
		address, err := h.address("probes")
		if err != nil {
			return false, nil // It does not listen yet.
		}
		response, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return false, nil
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, nil
	})
}

// logHead is how much of a log is searched for addresses, which are in its first lines.
const logHead = 64 << 10

// address returns where libretto listens for something, by its log.
func (h *host) address(what string) (string, error) {
	file, err := os.Open(h.logFile)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, logHead))
	if err != nil {
		return "", err
	}
	found := regexp.MustCompile(`"for": ?"` + what + `", ?"address": ?"([^"]+)"`).FindStringSubmatch(string(text))
	if found == nil {
		return "", fmt.Errorf("%s does not listen for %s", h.subject.name, what)
	}
	return found[1], nil
}

// log returns what it has logged.
func (h *host) log() string {
	text, err := os.ReadFile(h.logFile)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// stop ends it. How another program than libretto ends does not matter.
func (h *host) stop() error {
	if h.Ended() && h.subject.libretto {
		return fmt.Errorf("%s ended too early", h.subject.name)
	}
	if err := h.Stop(); err != nil && h.subject.libretto {
		return fmt.Errorf("%s: %w", h.subject.name, err)
	}
	return nil
}

// hookCalls returns the number of hook calls so far, or 0 if it does not tell.
func (h *host) hookCalls(ctx context.Context) (int, error) {
	if !h.subject.libretto {
		return 0, nil
	}
	metrics, err := h.metrics(ctx)
	return int(metrics.Sum("libretto_hook_duration_seconds", nil)), err
}

// metrics reads those of libretto.
func (h *host) metrics(ctx context.Context) (cluster.Metrics, error) {
	address, err := h.address("metrics")
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("metrics of %s: %w", h.subject.name, err)
	}
	defer response.Body.Close()
	return cluster.ParseMetrics(response.Body)
}

// poll calls step until it is done, fails, or ctx ends.
func poll(ctx context.Context, interval time.Duration, step func() (done bool, err error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if done, err := step(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
