package cluster

import "syscall"

// endWithParent makes a program end with this process, however this process ends.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
