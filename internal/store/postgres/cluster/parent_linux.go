package cluster

import "syscall"

// endWithParent lets the kernel send SIGQUIT to the started program when this process ends, for
// whatever reason.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
