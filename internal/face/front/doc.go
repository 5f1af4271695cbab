// Package front receives every request of the HTTP API, before the package that serves the
// requested part of the API. It checks to which host a request was sent, who sent it and what the
// sender may do. It waits for a place in the org's share of the processor, compresses responses,
// and sends errors as RFC 9457 problems.
//
// Another package gets a [Front] and registers its routes with [Front.Handle], or operations with
// package operation, which calls Handle. A route can be registered in no other way, so every route
// is guarded. All routes need a key, except those in the variable `public`. A package whose errors
// have another JSON shape is mounted as a [Tree].
//
// A package that serves a stream calls [Front.Admit] and [Front.Supervise].
package front
