package perdure

import (
	"bytes"
	"encoding/json"
	"strings"
)

// leastArguments is the smallest limit in bytes that CutArguments applies.
const leastArguments = 256

// cutArguments is the JSON object that replaces arguments which are too long.
type cutArguments struct {
	LeftOut string `json:"left_out_by_compaction"`
	Head    string `json:"head"`
	Tail    string `json:"tail"`
}

// CutArguments shortens the arguments of a tool call to at most limit bytes; a limit under 256
// counts as 256. The result is a JSON object with the head and the tail of the arguments, and with
// the number of bytes that are left out. The result depends only on the part and on the limit.
func CutArguments(p Part, limit int) Part {
	text := p.RawArguments
	if text == "" {
		text = string(p.Arguments)
	}
	limit = max(limit, leastArguments)
	if len(text) <= limit {
		return p
	}
	for kept := limit; ; kept /= 2 { // escapes make the object longer than the text in it
		if object := cutObject(text, kept); len(object) <= limit {
			p.Arguments, p.RawArguments = object, string(object)
			return p
		}
	}
}

// cutObject returns the JSON object with the head and the tail of text. The parameter `kept` is the
// maximum number of bytes of head and tail together.
func cutObject(text string, kept int) json.RawMessage {
	head, tail := strings.ToValidUTF8(text[:kept/2], ""), strings.ToValidUTF8(text[len(text)-kept/2:], "")
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(cutArguments{byteCount(len(text) - len(head) - len(tail)), head, tail}) // texts always encode
	return bytes.TrimSpace(b.Bytes())
}

// cutCalls returns the parts with the arguments of each tool call shortened.
func cutCalls(parts []Part, limit int) []Part {
	return mendParts(parts, func(p Part) (Part, bool) {
		if p.Type != PartToolCall || max(len(p.RawArguments), len(p.Arguments)) <= limit {
			return p, false
		}
		return CutArguments(p, limit), true
	})
}
