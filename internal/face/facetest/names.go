package facetest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Names returns the names of the members of a JSON object, sorted and separated by spaces.
func Names(object map[string]any) string {
	return strings.Join(slices.Sorted(maps.Keys(object)), " ")
}

// Sorted sorts the names in a list that is separated by spaces.
func Sorted(list string) string {
	words := strings.Fields(list)
	slices.Sort(words)
	return strings.Join(words, " ")
}

// Items returns the objects in the member "items" of the body of a list response.
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

// EventHead lists the members that every event has.
const EventHead = "seq agentExecutionId createdAt"
