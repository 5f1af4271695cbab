//go:build !linux

package cluster

import "syscall"

// endWithParent does nothing here: a program outlives a process that is killed.
func endWithParent(*syscall.SysProcAttr) {}
