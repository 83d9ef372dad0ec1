//go:build !unix

package sandbox

import "syscall"

func apart() *syscall.SysProcAttr { return nil }
