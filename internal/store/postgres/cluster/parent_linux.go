package cluster

import "syscall"

// endWithParent sets that the kernel sends SIGQUIT to a program when this process ends, for
// whatever reason.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
