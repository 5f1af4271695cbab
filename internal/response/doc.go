// Package response says what a response is made of, and under which ids: Host
// stamps what providers and inner agents say with the ids of one response, Merge
// makes one response of its pieces, Remap gives every item of a stream an id of
// its own, and ToolIDs says under which ids tool calls are known to providers.
//
// It is pure: same input, same output, and no input is changed. Both the
// worker's and the server's side use it.
package response
