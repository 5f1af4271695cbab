package logtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// page returns the content that a client builds from a stream with rendered HTML: the rendered
// parts by block and number, and all other events by seq.
func page(given []Event) string {
	parts, events, gone := map[string]string{}, map[string]string{}, superseded(given)
	var wrong []string
	final := map[string]bool{}
	for _, e := range given {
		var p struct {
			Seq, Part int64
			Final     bool
		}
		_ = json.Unmarshal([]byte(e.Data), &p) // data without a seq is ignored
		name := fmt.Sprintf("%08d", p.Seq)
		switch {
		case e.Name == "ping" || e.Name == "end":
		case e.Name == "token":
			wrong = append(wrong, "raw text: "+e.String())
		case e.Name != "html":
			c := pieceOf(e)
			if c.chunk {
				name += fmt.Sprintf(" at %08d", c.Offset)
			}
			if c.chunk && slices.Contains(gone, c.Seq) {
				if c.Offset > 0 {
					continue
				}
				e.Data = c.emptied(e.Data)
			}
			if known := events[name]; known != "" && known != e.Name+" "+e.Data {
				wrong = append(wrong, "comes again, another: "+e.String()+", was "+known)
			}
			events[name] = e.Name + " " + e.Data
		case !slices.Contains(gone, p.Seq):
			name += fmt.Sprintf(" part %04d", p.Part)
			if final[name] && parts[name] != e.Data && p.Final {
				wrong = append(wrong, "the final part changes: "+e.String())
			}
			parts[name], final[name] = e.Data, p.Final
		}
	}
	maps.Copy(parts, events)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		b.WriteString(name + " " + parts[name] + "\n")
	}
	for _, fault := range wrong {
		b.WriteString("WRONG " + fault + "\n")
	}
	return b.String()
}
