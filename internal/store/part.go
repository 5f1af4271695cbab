package store

import (
	"encoding/json"
	"strconv"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// MostSearched is the most bytes of an entry's content in which stores look for
// the texts of blocks and the results of tasks. What a larger one repeats rests
// twice: whoever reads a block would have to read all of the entry.
const MostSearched = 1 << 20

// EntryText is a text of an entry's content: its raw bytes, without the escapes
// of JSON, and where it stands.
type EntryText struct {
	// Path is the indexes of the part and of the parts in it, then the member's
	// name: "0.text", "2.rawArguments", "0.1.text".
	Path string
	Text string
}

// textPart is what of a message's part can have been a block.
type textPart struct {
	Text         string     `json:"text"`
	Thinking     string     `json:"thinking"`
	RawArguments string     `json:"rawArguments"`
	Parts        []textPart `json:"parts"`
}

// EntryTexts returns the texts of an entry's content that blocks are compared
// with, in order: what was said and thought, the arguments of tool calls as they
// came, and what results say. A content that does not decode has none.
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

// TextAt returns the text at a path, "" if there is none.
func TextAt(content json.RawMessage, path string) string {
	for _, t := range EntryTexts(content) {
		if t.Path == path {
			return t.Text
		}
	}
	return ""
}

// BlockRest says how the content of a closed block rests, for audits. Of
// superseded ones nothing does.
type BlockRest struct {
	Key    perdure.BlockKey
	Seq    int64
	Reason perdure.BlockReason
	Length int64
	SHA256 perdure.Hash
	// Held is how many bytes rest in the block's own row.
	Held int64
	// Blob tells that a blob stands for it, as in LOCAL executions.
	Blob bool
	// Entry and Path name the text of an entry that it is; nil if none.
	Entry *uuid.UUID
	Path  string
	// Cut is the length of all chunks together, as the cuts say.
	Cut int64
}
