package perdure

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSpecialBytesAreFoundInEights checks that plainRun finds a byte that is not plain at each of the
// eight positions of a word.
func TestSpecialBytesAreFoundInEights(t *testing.T) {
	for b := range 256 {
		want := b < ' ' || b == '"' || b == '\\' || b >= 0x80
		for at := range 8 {
			for _, other := range []byte{' ', '!', '#', 'a', '[', ']', 0x7f} {
				text := []byte(strings.Repeat(string(other), 8))
				text[at] = byte(b)
				if n := plainRun(text); (n == 0) != want {
					t.Fatalf("the byte %#x at %d beside %q: a run of %d", b, at, other, n)
				}
			}
		}
	}
	if n := plainRun([]byte("0123456789abcdefghi")); n != 16 {
		t.Errorf("a run of %d in 19 plain bytes, want 16", n)
	}
}

// TestLongTextsAreScannedAsWrittenByteByByte checks strings of 40 characters, of which up to two are
// random ASCII characters. The scanner must accept a string exactly if encoding/json does, both from
// memory and from a reader.
func TestLongTextsAreScannedAsWrittenByteByByte(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := []byte("\"" + strings.Repeat("x", 40) + "\"")
		for range random.IntN(3) {
			text[1+random.IntN(40)] = byte(random.IntN(0x80))
		}
		err := CheckDocumentBytes("", text, DocumentRules{Workers: true})
		if valid := json.Valid(text); (err == nil) != valid {
			t.Fatalf("%q: valid %v, but %v", text, valid, err)
		}
		piecewise := CheckDocument("", strings.NewReader(string(text)), DocumentRules{Workers: true})
		if (piecewise == nil) != (err == nil) {
			t.Fatalf("%q: %v in memory, %v as read", text, err, piecewise)
		}
	}
}

func BenchmarkCheckDocument(b *testing.B) {
	raw, err := json.Marshal(strings.Repeat("All that is said. ", 1<<16))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if err := CheckDocumentBytes("", raw, DocumentRules{Workers: true}); err != nil {
			b.Fatal(err)
		}
	}
}
