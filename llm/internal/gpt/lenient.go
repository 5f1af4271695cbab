package gpt

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Text is a string in a response. If a compatible server sends another JSON value in place of a
// string, Text is the JSON of that value.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	*t = Text(text)
	return nil
}

// Count is a number of tokens or an index. Some compatible servers send it as a string or with a
// fraction; the fraction is cut off. Any other value is read as 0.
type Count int64

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil {
		n = 0
	}
	*c = Count(n)
	return nil
}
