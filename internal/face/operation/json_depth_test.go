package operation

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShallowLeavesOutWhatNoSchemaDescribes(t *testing.T) {
	nested := func(n int, inside string) string { return strings.Repeat(`[`, n) + inside + strings.Repeat(`]`, n) }
	for name, c := range map[string]struct{ text, want string }{
		"plain":       {`{"a":[1,"x"]}`, `{"a":[1,"x"]}`},
		"deepest":     {nested(described, `1`), nested(described, `1`)},
		"too deep":    {nested(described, `1,[2],{"a":3},4`), nested(described, `1,null,null,4`)},
		"much deeper": {nested(900, `1`), nested(described, `null`)},
		"twice":       {`{"a":` + nested(described, `1`) + `,"b":` + nested(described, `{}`) + `}`, `{"a":` + nested(described-1, `null`) + `,"b":` + nested(described-1, `null`) + `}`},
		"in text":     {nested(described, `"[{\\\"[["`), nested(described, `"[{\\\"[["`)},
		"text below":  {nested(described+1, `"]]}\\\\"`), nested(described, `null`)},
		"text":        {`"[[["`, `"[[["`},
	} {
		got := string(shallow([]byte(c.text)))
		if diff := cmp.Diff(c.want, got); diff != "" || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s (-want +got)", name, diff)
		}
	}
}

// TestADeepBodyCostsLittleToCheck checks that decoding a deeply nested body allocates at most four
// times the size of the body.
func TestADeepBodyCostsLittleToCheck(t *testing.T) {
	one := strings.Repeat(`[`, 900) + strings.Repeat(`]`, 900)
	body := []byte(`{"kind":"k","input":[` + strings.Repeat(one+`,`, 500) + `1]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var v any
	if err := unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(4*len(body)); got > most {
		t.Errorf("%d bytes are allocated for a body of %d, want at most %d", got, len(body), most)
	}
}
