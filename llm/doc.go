// Package llm calls language models through one interface. A Provider takes a
// conversation in the neutral parts of the root package, calls its model once,
// hands out the answer piece by piece, and returns it whole.
//
// Nothing here retries: a call that fails gives an *Error that says whether and
// when trying again makes sense, and the durable task that made the call does
// so. Nothing here keeps state between calls either, so any worker can make
// the next one.
//
// docs/providers.md says how providers are configured.
package llm
