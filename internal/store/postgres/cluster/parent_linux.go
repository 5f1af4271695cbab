package cluster

import "syscall"

// endWithParent lets the kernel end a program with this process, however this process ends.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
