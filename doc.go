// Package perdure holds the words of the domain: executions, entries, tasks,
// signals, waits, events, and the rules that server and worker share. It
// depends on nothing but the standard library, uuid and canonical JSON.
//
// docs/vocabulary.md says what each term means; docs/architecture.md describes how
// data flows through the packages.
package perdure
