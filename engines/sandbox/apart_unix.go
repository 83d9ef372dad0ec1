//go:build unix

package sandbox

import "syscall"

// apart puts a worker in a process group of its own, so that it does not get what the
// host is sent from a terminal.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
