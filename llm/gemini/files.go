package gemini

import (
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// link is a URL from which the provider fetches a file.
type link struct {
	MimeType string `json:"mimeType,omitempty"`
	URI      string `json:"fileUri"`
}

// takes reports whether the API accepts an image or a file: an image by its URL, and PDF and text by
// data or URL. It refuses ids of files, because they belong to other providers.
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

// mediaPart returns the part for an image or a file.
func mediaPart(p perdure.Part) part {
	if p.URL == "" {
		return part{InlineData: &blob{MimeType: p.MimeType, Data: p.Data}}
	}
	mime, _ := llm.MediaType(p)
	return part{FileData: &link{MimeType: mime, URI: p.URL}}
}

// what returns a name for the part's content. It is for parts that a function result cannot hold.
func what(p part) string {
	switch {
	case p.InlineData != nil && !strings.HasPrefix(p.InlineData.MimeType, "image/"):
		return "file"
	case p.FileData != nil && p.FileData.MimeType != "" && !strings.HasPrefix(p.FileData.MimeType, "image/"):
		return "file"
	}
	return "image"
}
