// Package log reads an execution's log for its clients: first the existing records from any cursor,
// in bounded pages, and then new records as they are committed. No record is missing, doubled or
// out of order in between. Readers receive typed records; the JSON that clients see is rendered
// from them. docs/api.md describes the events.
package log
