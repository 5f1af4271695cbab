//go:build !linux

package cluster

import "syscall"

// endWithParent does nothing: on this system, the program continues when this process is killed.
func endWithParent(*syscall.SysProcAttr) {}
