package sse

import (
	"sync"
	"testing"
)

// TestStreamsBeginWhileAStopWaits checks that streams can begin while Wait waits for the end of
// earlier ones.
func TestStreamsBeginWhileAStopWaits(t *testing.T) {
	var streams OpenStreams
	var handlers sync.WaitGroup
	var ended sync.WaitGroup
	for range 100 {
		ended.Add(2)
		handlers.Go(func() {
			streams.Go(func() {
				streams.Go(ended.Done)
				ended.Done()
			})
		})
		streams.Wait()
	}
	handlers.Wait()
	streams.Wait()
	ended.Wait()
}

// TestAStopWaitsForTheLastStream checks that Wait returns only after the last stream has ended.
func TestAStopWaitsForTheLastStream(t *testing.T) {
	var streams OpenStreams
	streams.Wait()
	first, second, over := make(chan struct{}), make(chan struct{}), make(chan struct{})
	streams.Go(func() { <-first })
	streams.Go(func() { <-second })
	go func() { streams.Wait(); close(over) }()
	close(first)
	select {
	case <-over:
		t.Error("a stop did not wait for a stream")
	default:
	}
	close(second)
	<-over
}
