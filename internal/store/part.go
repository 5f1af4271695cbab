package store

import (
	"encoding/json"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// MostSearched is the maximum size, in bytes, of an entry in which a store searches for the texts
// of blocks and for the results of tasks. A text that is found there is not stored again. Larger
// entries are not searched, so their texts are stored twice. Otherwise each reader of a block would
// have to read the whole large entry.
const MostSearched = 1 << 20

// EntryText is a text in an entry's content, with its place in that content. The text is decoded: it
// has no JSON escapes.
type EntryText struct {
	// Path is the place of the text in the content: the index of the message part, the indexes of
	// nested parts, and the member's name. Examples are "0.text", "2.rawArguments" and "0.1.text".
	Path string
	Text string
}

// textPart contains the members of a message part whose texts may also be stored as blocks.
type textPart struct {
	Text         string     `json:"text"`
	Thinking     string     `json:"thinking"`
	RawArguments string     `json:"rawArguments"`
	Parts        []textPart `json:"parts"`
}

// EntryTexts returns, in order, the texts of an entry's content that may also be stored as blocks:
// text, thinking, the raw arguments of tool calls, and the texts of tool results. It returns none if
// the content cannot be decoded.
func EntryTexts(content json.RawMessage) []EntryText {
	var root textPart
	if json.Unmarshal(content, &root) != nil {
		return nil
	}
	return addTexts(nil, "", root.Parts)
}

func addTexts(all []EntryText, at string, parts []textPart) []EntryText {
	for i, p := range parts {
		path := at + strconv.Itoa(i) + "."
		for _, t := range []EntryText{{"text", p.Text}, {"thinking", p.Thinking}, {"rawArguments", p.RawArguments}} {
			if t.Text != "" {
				all = append(all, EntryText{Path: path + t.Path, Text: t.Text})
			}
		}
		all = addTexts(all, path, p.Parts)
	}
	return all
}

// BlockRest describes, for audits, where the content of a closed block is stored. A superseded
// block has no stored content.
type BlockRest struct {
	Key    perdure.BlockKey
	Seq    int64
	Reason perdure.BlockReason
	Length int64
	SHA256 perdure.Hash
	// Held is the number of bytes that are stored in the block's own row.
	Held int64
	// Blob reports whether the content is in a blob, as in LOCAL executions.
	Blob bool
	// Entry and Path identify a text, in an entry, that equals the block's content. Entry is nil if
	// there is no such text.
	Entry *uuid.UUID
	Path  string
	// Cut is the total length of the block's chunks, according to the list of chunks that is stored
	// in the block's row.
	Cut int64
}
