// Package bench measures a complete server with a worker: the workloads W1 to W9 of
// docs/performance.md, and the cost of many streams and readers. Server, worker and readers are
// separate processes (this program in other roles), so that the memory and the CPU time of each can
// be measured. The measuring process only sends requests to these processes. Every measurement
// creates its own database and removes it afterwards.
package bench
