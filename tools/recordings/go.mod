// Streams of model providers, recorded by the authors of charm.land/fantasy and
// kept in its test data. llm's tests read them out of the module cache; nothing
// of it is compiled, and nothing reaches this repository's own go.mod.
module github.com/perdure/perdure/tools/recordings

go 1.26.0

require charm.land/fantasy v0.12.0
