// Package chaos is what the suite of faults is made of, apart from the processes
// that it starts: a plan of faults that a seed chooses, a proxy that breaks
// connections in the ways that networks do, the conversations that agents are
// to have, and the checks over what has come of them. e2e runs it.
package chaos
