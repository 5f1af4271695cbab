// Package response defines the parts of a response to a client, and their ids. Host gives all
// updates the ids of one response, in place of those of providers and inner agents. Merge assembles
// a response from its updates. Remap gives each item of a stream a unique id. ToolIDs selects the
// ids that tool calls have in requests to a provider.
//
// The package is pure: the output depends only on the input, and no input is changed. Workers and
// servers use it.
package response
