package row

import (
	"strconv"
	"testing"
)

// TestUpdatesOfWideTablesDiffer checks a table with many columns. Updates of different columns must
// be different statements.
func TestUpdatesOfWideTablesDiffer(t *testing.T) {
	wide := Table{Name: "wide", Key: 1, updates: new(updates)}
	for i := range 100 {
		wide.Columns = append(wide.Columns, "c"+strconv.Itoa(i))
	}
	seen := map[string]int{}
	for i := 1; i < len(wide.Columns); i++ {
		query := wide.updateOf([]int{i}).Text()
		if before, known := seen[query]; known {
			t.Fatalf("columns %d and %d have the statement %s", before, i, query)
		}
		seen[query] = i
	}
}
