// Package operation registers the operations that the OpenAPI document describes. It contains the
// parts that all operations share: the inputs and outputs of lists, ids in paths, the decoding and
// checks of request bodies, and the errors for invalid requests.
package operation
