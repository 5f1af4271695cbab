package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// CheckText checks those limits of a schema that can be checked without compiling the schema: size,
// depth, number of nodes, anchors and references, and numbers. A schema that is only passed to a
// model's provider needs no other check.
func CheckText(raw json.RawMessage) error {
	if len(raw) > MaxBytes {
		return &LimitError{What: "bytes", Got: len(raw), Max: MaxBytes}
	}
	return checkShape(raw, shape{depth: MaxDepth, nodes: MaxNodes, anchors: MaxAnchors, refs: MaxRefs})
}

// shape contains limits for the text of a JSON value. 0 means no limit.
type shape struct {
	depth, nodes, anchors, refs int
}

// checkShape checks a JSON value against limits, token by token. The memory that it needs depends
// only on the depth.
func checkShape(raw json.RawMessage, max shape) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	s := shapeReader{max: max}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) && s.tokens > 0 && len(s.open) == 0 {
			return s.check()
		}
		if err != nil {
			return fmt.Errorf("is not valid JSON: %w", err)
		}
		if err := s.read(token); err != nil {
			return err
		}
	}
}

// shapeReader is the state of a call of checkShape.
type shapeReader struct {
	max    shape
	open   []level
	name   string // name of the member whose value is next
	tokens int
	nodes  int

	// oldAnchors and oldRefs count members that are anchors and references only in drafts before
	// 2019-09. They have separate counters, because the member $schema, which names the draft, may
	// come last.
	anchors, oldAnchors int
	refs, oldRefs       int
	old                 bool // some $schema names a draft before 2019-09
}

// level is an open object or array.
type level struct {
	object bool
	named  bool // the member's name has been read, but not its value
}

func (s *shapeReader) read(token json.Token) error {
	s.tokens++
	if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
		s.open = s.open[:len(s.open)-1]
		return nil
	}
	if s.isName() {
		s.name, _ = token.(string)
		return nil
	}
	if err := s.value(token); err != nil {
		return err
	}
	s.name = ""
	return nil
}

// isName reports whether the next token is a member's name, and records that the value follows.
func (s *shapeReader) isName() bool {
	if len(s.open) == 0 || !s.open[len(s.open)-1].object {
		return false
	}
	top := &s.open[len(s.open)-1]
	top.named = !top.named
	return top.named
}

func (s *shapeReader) value(token json.Token) error {
	switch v := token.(type) {
	case json.Delim:
		s.open = append(s.open, level{object: v == '{'})
		if len(s.open) > s.max.depth {
			return &LimitError{What: "levels of nesting", Max: s.max.depth}
		}
		if v == '{' {
			s.nodes++
		}
	case bool:
		s.nodes++
	case string:
		s.keyword(v)
	case json.Number:
		return checkNumber(v)
	}
	return nil
}

// keyword processes a member whose value is a text. It counts anchors and references, and records
// whether $schema names an old draft.
func (s *shapeReader) keyword(value string) {
	switch s.name {
	case "$id", "$anchor", "$dynamicAnchor":
		s.anchors++
	case "id":
		s.oldAnchors++
	case "$schema":
		s.old = s.old || !strings.Contains(value, "2019-09") && !strings.Contains(value, "2020-12")
	case "$ref":
		s.ref(value)
	}
}

// ref counts a reference. References to a definition or to the root are cheap and not counted. For
// any other reference, the library copies its data about the document.
func (s *shapeReader) ref(to string) {
	name, inDefs := strings.CutPrefix(to, "#/$defs/")
	old, inDefinitions := strings.CutPrefix(to, "#/definitions/")
	switch {
	case to == "#", inDefinitions && !strings.Contains(old, "/"):
	case inDefs && !strings.Contains(name, "/"):
		s.oldRefs++
	default:
		s.refs++
	}
}

func (s *shapeReader) check() error {
	if s.old {
		s.anchors += s.oldAnchors
		s.refs += s.oldRefs
	}
	switch {
	case s.max.nodes > 0 && s.nodes > s.max.nodes:
		return &LimitError{What: "objects and booleans", Got: s.nodes, Max: s.max.nodes}
	case s.max.anchors > 0 && s.anchors > s.max.anchors:
		return &LimitError{What: "$id and $anchor members", Got: s.anchors, Max: s.max.anchors}
	case s.max.refs > 0 && s.refs > s.max.refs:
		return &LimitError{What: "$ref members to elsewhere than the root and its definitions", Got: s.refs, Max: s.max.refs}
	}
	return nil
}

// checkNumber returns an error for a number that is too long or has too large an exponent, because
// the validation reads each number as an exact fraction.
func checkNumber(n json.Number) error {
	if len(n) > MaxNumber {
		return &LimitError{What: "digits in a number", Got: len(n), Max: MaxNumber}
	}
	_, exponent, ok := strings.Cut(strings.ToLower(n.String()), "e")
	if !ok {
		return nil
	}
	size, err := strconv.Atoi(strings.TrimLeft(exponent, "+-"))
	if err != nil || size > MaxNumber {
		return &LimitError{What: "as the exponent of a number", Max: MaxNumber}
	}
	return nil
}
