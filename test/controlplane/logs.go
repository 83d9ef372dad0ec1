package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"k8s.io/klog/v2"
)

const logName = "controlplane.log"

// tailLines is how much of the log goes with an error message; a temporary directory takes the rest with it.
const tailLines = 20

// logFile is where the Kubernetes parts' log goes: standard output is for the program that started this one.
type logFile struct{ path string }

func redirectLogs(path string) (*logFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"logtostderr":     "false",
		"one_output":      "true",
		"stderrthreshold": "FATAL",
	} {
		if err := flags.Set(name, value); err != nil {
			return nil, fmt.Errorf("log flag %s: %w", name, err)
		}
	}
	klog.SetOutput(file)
	return &logFile{path: path}, nil
}

// tail is the log's end, for the message that says why the control plane failed.
func (l *logFile) tail() string {
	klog.Flush()
	content, err := os.ReadFile(l.path)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(content), tailLines)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
