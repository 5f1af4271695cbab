// Package log reads an execution's log for its clients: first the existing records from any cursor,
// in bounded pages, and then new records as they are committed. Readers receive each record once,
// in order, as typed values; the JSON that clients see is rendered from these values. docs/api.md
// describes the events.
package log
