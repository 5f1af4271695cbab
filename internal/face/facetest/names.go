package facetest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Names returns the members of an object, sorted, as one line.
func Names(object map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(object)), " ")
}

// Sorted sorts a list of names in the form that Names returns.
func Sorted(list string) string {
	words := strings.Fields(list)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// Items returns the items of a list.
func Items(t *testing.T, body map[string]any) []map[string]any {
	t.Helper()
	all, ok := body["items"].([]any)
	if !ok {
		t.Fatalf("the items are %v", body["items"])
	}
	objects := make([]map[string]any, len(all))
	for i, item := range all {
		objects[i], _ = item.(map[string]any)
	}
	return objects
}

// EventHead are the members that every event has.
const EventHead = "seq agentExecutionId createdAt"
