// Package eventlog reads an execution's log for its clients: replay from any
// cursor in bounded pages, then live, at one position, with nothing missing,
// doubled or out of order at the seam. It also renders records as clients see
// them. docs/api.md describes the events.
package eventlog
