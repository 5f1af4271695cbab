package perdure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// foldedBegin is the beginning of an entry's content after EmbedMetadata has added the metadata.
const foldedBegin = `{"metadata":`

// EmbedMetadata adds the entry's metadata to the entry's content, as the member "metadata", so that
// one hash covers content and metadata. The worker of a LOCAL execution stores the content of an
// entry in this form. Errors: invalid_argument for content that is not an object.
func (e *Entry) EmbedMetadata() error {
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

// ExtractMetadata removes the metadata from the content and restores the original content byte for
// byte. It does not change an entry whose content has no metadata.
func (e *Entry) ExtractMetadata() {
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

// foldedLimit is the number of bytes within which ExtractMetadataFrom must find the whole metadata.
const foldedLimit = 1 << 20

// ExtractMetadataFrom does the same as [Entry.ExtractMetadata] for a content that is read as a
// stream. It buffers only the metadata. Errors: those of the reader, internal (the metadata does not
// decode, or exceeds 1 MiB).
func (e *Entry) ExtractMetadataFrom(content io.Reader) (io.Reader, error) {
	in := bufio.NewReader(content)
	begin, _ := in.Peek(len(foldedBegin)) // if Peek fails, the next read returns the same error
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
