//go:build !unix

package sandbox

import "syscall"

func processGroup() *syscall.SysProcAttr { return nil }
