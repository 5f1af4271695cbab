package perdure_test

import (
	"fmt"

	"github.com/perdure/perdure"
)

func ExampleWaitKinds() {
	for _, kind := range perdure.WaitKinds() {
		fmt.Println(kind)
	}
	// Output:
	// any
	// all
	// signal
	// task
	// timer
	// after
}
