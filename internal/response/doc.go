// Package response defines the parts of a response to a client, and their ids. Host replaces the
// ids of providers and inner agents by ids of one response. Merge assembles a response from its
// updates. Remap assigns each item of a stream a unique id. ToolIDs selects the ids of tool calls
// that providers see.
//
// The package is pure: the output depends only on the input, and no input is changed. Workers and
// servers use it.
package response
