package cluster

import "syscall"

// endWithParent has the kernel kill a child when the thread that started it ends.
func endWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
