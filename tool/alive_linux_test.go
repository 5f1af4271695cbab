package tool

// alive reports whether pid runs. A zombie does not run.
func alive(pid int) bool {
	p, ok := readProc(pid)
	return ok && !p.zombie
}
