package gemini

import (
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// link is a URL that the provider fetches.
type link struct {
	MimeType string `json:"mimeType,omitempty"`
	URI      string `json:"fileUri"`
}

// takes reports whether the API accepts a part: an image by its URL, and PDF and text by data or
// URL. Ids of files belong to other providers.
func takes(p perdure.Part) bool {
	mime, known := llm.MediaType(p)
	switch {
	case p.Type == perdure.PartImage:
		return true
	case p.FileID != "":
		return false
	case p.URL != "" && !known:
		return true
	}
	return mime == llm.PDF || strings.HasPrefix(mime, "text/")
}

// mediaPart returns the part of an image or a file.
func mediaPart(p perdure.Part) part {
	if p.URL == "" {
		return part{InlineData: &blob{MimeType: p.MimeType, Data: p.Data}}
	}
	mime, _ := llm.MediaType(p)
	return part{FileData: &link{MimeType: mime, URI: p.URL}}
}

// what returns the name of the kind of a part that a result cannot have.
func what(p part) string {
	switch {
	case p.InlineData != nil && !strings.HasPrefix(p.InlineData.MimeType, "image/"):
		return "file"
	case p.FileData != nil && p.FileData.MimeType != "" && !strings.HasPrefix(p.FileData.MimeType, "image/"):
		return "file"
	}
	return "image"
}
