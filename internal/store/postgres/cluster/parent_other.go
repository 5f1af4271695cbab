//go:build !linux

package cluster

import "syscall"

// endWithParent does nothing: on this system, a program outlives a killed parent.
func endWithParent(*syscall.SysProcAttr) {}
