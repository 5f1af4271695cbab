// Package front receives every request of the HTTP API before the rooms (the packages that serve
// parts of the API). It checks where a request is going, who sent it and what the sender may do,
// admits the org to the processor, compresses responses, and answers errors as RFC 9457 problems.
//
// A room gets a [Front] and registers its routes with [Front.Handle], or operations with package
// operation, which calls Handle. There is no other way to the mux, so every route is guarded. All
// routes need a key, except those in the list public. A room that answers errors in a shape of its
// own is a [Tree].
//
// For streams, a room asks the front for admission ([Front.Admit]) and supervision
// ([Front.Supervise]).
package front
