// Package llm is the interface to language models. A Provider takes a conversation in the
// provider-neutral parts of the root package, calls its model once, streams the answer, and returns
// the whole answer.
//
// The package does not retry. A failed call returns an *Error that says whether and when a retry
// makes sense; the durable task that made the call does the retry. The package keeps no state
// between calls, so any worker can make the next call.
//
// docs/providers.md describes the configuration of providers.
package llm
