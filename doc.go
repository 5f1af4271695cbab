// Package perdure defines the domain of Perdure: executions, entries, tasks, signals, waits and
// events, and the rules that server and worker share. It depends only on the standard library, uuid
// and canonical JSON.
//
// The terms are defined in docs/vocabulary.md; docs/architecture.md describes how data flows
// through the packages.
package perdure
