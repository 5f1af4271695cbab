package tool

// alive reports whether pid runs; a zombie does not.
func alive(pid int) bool {
	p, ok := readProc(pid)
	return ok && !p.zombie
}
