// Package operation registers the operations that the OpenAPI document describes. It contains what
// they have in common: the inputs and outputs of lists, ids of paths, the decoding and the checks
// of bodies, and the errors of invalid requests.
package operation
