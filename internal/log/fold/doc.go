// Package fold builds what a client shows from the records of a log: responses with their turns,
// messages, parts and tool calls. It also tracks the parts that were withdrawn. All views of a log
// use it.
package fold
