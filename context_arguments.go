package perdure

import (
	"bytes"
	"encoding/json"
	"strings"
)

// leastArguments is the least number of bytes that CutArguments leaves.
const leastArguments = 256

// cutArguments is the JSON object that replaces the arguments of a call.
type cutArguments struct {
	LeftOut string `json:"left_out_by_compaction"`
	Head    string `json:"head"`
	Tail    string `json:"tail"`
}

// CutArguments shortens the arguments of a tool call to at most most bytes, but not below 256. The
// result is a JSON object with the head and the tail of the arguments, and with the number of bytes
// that are left out. It depends only on the part and on most.
func CutArguments(p Part, most int) Part {
	text := p.RawArguments
	if text == "" {
		text = string(p.Arguments)
	}
	most = max(most, leastArguments)
	if len(text) <= most {
		return p
	}
	for kept := most; ; kept /= 2 { // escapes make the object longer than the text in it
		if object := cutObject(text, kept); len(object) <= most {
			p.Arguments, p.RawArguments = object, string(object)
			return p
		}
	}
}

// cutObject returns the JSON object with the head and the tail of text, together kept bytes at most.
func cutObject(text string, kept int) json.RawMessage {
	head, tail := strings.ToValidUTF8(text[:kept/2], ""), strings.ToValidUTF8(text[len(text)-kept/2:], "")
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(cutArguments{byteCount(len(text) - len(head) - len(tail)), head, tail}) // texts always encode
	return bytes.TrimSpace(b.Bytes())
}

// cutCalls shortens the arguments of the tool calls among parts.
func cutCalls(parts []Part, most int) []Part {
	return mendParts(parts, func(p Part) (Part, bool) {
		if p.Type != PartToolCall || max(len(p.RawArguments), len(p.Arguments)) <= most {
			return p, false
		}
		return CutArguments(p, most), true
	})
}
