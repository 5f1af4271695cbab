// Package front receives every request of the HTTP API, before the package that serves the
// requested part of the API. It checks where a request is going, who sent it and what the sender may
// do. It waits for a place in the org's share of the processor, compresses responses, and answers
// errors as RFC 9457 problems.
//
// Another package gets a [Front] and registers its routes with [Front.Handle], or operations with
// package operation, which calls Handle. A route can be registered in no other way, so every route
// is guarded. All routes need a key, except those in the list public. A package that answers errors
// in a shape of its own is mounted as a [Tree].
//
// For each stream, the package that serves it asks the front for admission ([Front.Admit]) and
// supervision ([Front.Supervise]).
package front
