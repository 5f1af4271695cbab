package openai

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// takes reports whether the API accepts the image or file p: an image by its URL, a PDF by its data,
// and any file by its id.
func takes(p perdure.Part) bool {
	return p.Type == perdure.PartImage || p.FileID != "" || p.Data != "" && p.MimeType == llm.PDF
}

type filePart struct {
	ID   string `json:"file_id,omitempty"`
	Data string `json:"file_data,omitempty"`
	Name string `json:"filename,omitempty"`
}

func file(p perdure.Part) *filePart {
	if p.FileID != "" {
		return &filePart{ID: p.FileID}
	}
	return &filePart{Data: llm.DataURL(p), Name: llm.FileName(p)}
}
