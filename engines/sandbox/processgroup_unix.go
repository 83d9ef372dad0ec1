//go:build unix

package sandbox

import "syscall"

// processGroup puts a worker in a process group of its own, so that signals from the host's terminal do
// not reach it.
func processGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
