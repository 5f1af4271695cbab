package meter

import (
	"fmt"
	"sync"
	"testing"
)

// TestLabelsAreBounded checks a Bounded for three values. The first value is used unchanged, before
// and after all others. Of 100 further values from concurrent goroutines, two are used unchanged,
// and the others become Other. An empty value becomes Other.
func TestLabelsAreBounded(t *testing.T) {
	b := NewBounded(3)
	if b.Of("first") != "first" {
		t.Error("the first value is not given")
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for i := range 100 {
		wg.Go(func() {
			value := b.Of(fmt.Sprint(i))
			mu.Lock()
			defer mu.Unlock()
			seen[value] = true
		})
	}
	wg.Wait()
	if len(seen) != 3 || !seen[Other] {
		t.Errorf("the label has the values %v, want two and %q", seen, Other)
	}
	if got := b.Of("first"); got != "first" {
		t.Errorf("a value that was there is %q now", got)
	}
	if got := NewBounded(9).Of(""); got != Other {
		t.Errorf("no value at all is %q", got)
	}
}
