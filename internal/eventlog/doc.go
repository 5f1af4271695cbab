// Package eventlog reads an execution's log for its clients: replay from any cursor in bounded
// pages, then live records. Nothing is missing, doubled or out of order where replay turns into
// live reading. The package also renders records as clients see them. docs/api.md describes the
// events.
package eventlog
