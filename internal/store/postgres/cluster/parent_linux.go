package cluster

import "syscall"

// endWithParent lets a program end with this process, however that ends.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
