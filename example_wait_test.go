package perdure_test

import (
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// A worker sends a wait with its commit. The signal "answer" or the time noon meets this wait.
func ExampleWaitUntil() {
	noon := perdure.At(time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC))
	wait := perdure.WaitAny(perdure.WaitSignal("answer"), perdure.WaitUntil(noon))
	wakesAt, _ := wait.NextTimer()
	fmt.Println(wait.Signals(), wakesAt)
	// Output: [answer] 2030-01-02T12:00:00.000Z
}

func ExampleWaitKinds() {
	for _, kind := range perdure.WaitKinds() {
		fmt.Println(kind)
	}
	// Output:
	// any
	// all
	// signal
	// task
	// question
	// timer
	// after
}
