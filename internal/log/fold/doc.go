// Package fold builds from the records of a log the tree that a client shows: responses with their
// turns, messages, parts and tool calls. It also tracks which parts were withdrawn because their
// block was superseded. All views of a log use this package.
package fold
