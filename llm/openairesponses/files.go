package openairesponses

import (
	"cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

func takes(perdure.Part) bool { return true }

// content is a part of a message or of the output of a tool call. For a file, exactly one of
// FileURL, FileID and FileData is set. Filename is set only together with FileData, because the API
// refuses a file name without FileData.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
	FileURL  string `json:"file_url,omitempty"`
	FileID   string `json:"file_id,omitempty"`
	FileData string `json:"file_data,omitempty"`
	Filename string `json:"filename,omitempty"`
}

func textOf(s string) content { return content{Type: "input_text", Text: s} }

func imageOf(p perdure.Part, detail string) content {
	return content{Type: "input_image", ImageURL: cmp.Or(p.URL, llm.DataURL(p)), Detail: detail}
}

func fileOf(p perdure.Part) content {
	c := content{Type: "input_file"}
	switch {
	case p.URL != "":
		c.FileURL = p.URL
	case p.FileID != "":
		c.FileID = p.FileID
	default:
		c.FileData, c.Filename = llm.DataURL(p), llm.FileName(p)
	}
	return c
}
