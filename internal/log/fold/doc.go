// Package fold builds, from the records of a log, what a client shows: responses with their
// turns, messages, parts and tool calls. It also tracks which parts were withdrawn. All views of
// a log use this package.
package fold
