package perdure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// foldedBegin is how the content of an entry begins that holds its metadata.
const foldedBegin = `{"metadata":`

// Fold puts the entry's metadata into its content, as the member "metadata",
// so that one hash stands for both. The content of a LOCAL execution's entry
// rests so. Errors: invalid_argument for content that is no object.
func (e *Entry) Fold() error {
	if len(e.Metadata) == 0 {
		return nil
	}
	rest := bytes.TrimLeft(e.Content, " \t\r\n")
	if len(rest) < 2 || rest[0] != '{' {
		return FieldErrorf("content", "of entry %s must be an object", e.ID)
	}
	folded := append([]byte(foldedBegin), e.Metadata...)
	if after := bytes.TrimLeft(rest[1:], " \t\r\n"); len(after) > 0 && after[0] != '}' {
		folded = append(folded, ',')
	}
	e.Content, e.Metadata = append(folded, rest[1:]...), nil
	return nil
}

// Unfold takes the metadata out of the content again. The content is, byte for
// byte, what it was; an entry that holds none is left as it is.
func (e *Entry) Unfold() {
	if e.Metadata != nil || !bytes.HasPrefix(e.Content, []byte(foldedBegin)) {
		return
	}
	var metadata json.RawMessage
	d := json.NewDecoder(bytes.NewReader(e.Content[len(foldedBegin):]))
	if d.Decode(&metadata) != nil {
		return
	}
	rest := e.Content[len(foldedBegin)+int(d.InputOffset()):]
	rest = bytes.TrimPrefix(rest, []byte(","))
	e.Content = append([]byte("{"), rest...)
	e.Metadata = metadata
}

// foldedLimit is up to where a metadata is looked for in a content that is not
// held.
const foldedLimit = 1 << 20

// UnfoldFrom is [Entry.Unfold] for a content that is passed on as it is read: it
// takes the metadata off, holding no more than that. Errors are the reader's.
func (e *Entry) UnfoldFrom(content io.Reader) (io.Reader, error) {
	in := bufio.NewReader(content)
	begin, _ := in.Peek(len(foldedBegin)) // an error of the reader comes again
	if e.Metadata != nil || string(begin) != foldedBegin {
		return in, nil
	}
	if _, err := in.Discard(len(begin)); err != nil {
		return nil, err
	}
	d := json.NewDecoder(io.LimitReader(in, foldedLimit))
	if err := d.Decode(&e.Metadata); err != nil {
		return nil, &Error{Code: Internal, Message: "the metadata of entry " + e.ID.String() + " does not decode", Err: err}
	}
	rest := bufio.NewReader(io.MultiReader(d.Buffered(), in))
	if next, err := rest.Peek(1); err == nil && next[0] == ',' {
		if _, err := rest.Discard(1); err != nil {
			return nil, err
		}
	}
	return io.MultiReader(bytes.NewReader([]byte("{")), rest), nil
}
