// Package durablestream speaks the Durable Streams protocol: streams that
// clients create, append to and close, and the reading of any stream, such as
// the log of an execution, by catch-up, long poll and server-sent events. Its
// rules are pure decisions that the store's committer makes durable. docs/api.md
// describes what it serves.
package durablestream
