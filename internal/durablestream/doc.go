// Package durablestream implements the Durable Streams protocol. Clients create streams, append to
// them and close them. Any stream, such as the log of an execution, can be read by catch-up, long
// poll and server-sent events. The rules are pure functions, which run in the store's committer.
// docs/api.md describes the supported protocol.
package durablestream
