// Package operation registers the operations that the OpenAPI document describes. It contains the
// parts that all operations share: the inputs and outputs of lists, ids of paths, the decoding and
// the checks of bodies, and the errors of invalid requests.
package operation
