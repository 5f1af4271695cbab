// Package bench measures a whole server with a worker: the workloads W1 to W8 of
// docs/performance.md, and what many streams and readers cost. Server, worker
// and readers are processes of their own (this same program in another role), so
// that each one's memory and CPU time is its own; the process that measures does
// nothing but ask. Every database is made for one measuring and removed after it.
package bench
