package rest

import (
	"context"
	"errors"
	"testing"
)

// TestAWaitForInspectionsEndsWithItsRequest checks a request that waits until another request has
// released the memory for the conversation of a model call. The wait ends when the client
// disconnects.
func TestAWaitForInspectionsEndsWithItsRequest(t *testing.T) {
	s := &server{inspections: make(chan struct{}, 1)}
	over, err := s.inspect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.inspect(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a second inspection gives %v", err)
	}
	over()
	if over, err = s.inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	over()
}
