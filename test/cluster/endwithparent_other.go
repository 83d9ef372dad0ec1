//go:build !linux

package cluster

import "syscall"

// endWithParent does nothing here: only Linux can tie a child to its parent.
func endWithParent() *syscall.SysProcAttr { return nil }
