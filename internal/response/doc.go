// Package response says what a response is made of, and under which ids: the
// ids under which tool calls are known to providers, to begin with. It is pure,
// and shared by the worker's and the server's side.
package response
