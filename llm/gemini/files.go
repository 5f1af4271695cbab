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

// takes reports whether the API accepts the image or file in p. Every image is accepted. A file is
// accepted if it is a PDF or text, or if it has a URL and an unknown type. A file that is given by
// its id is not accepted, because the id belongs to another provider.
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

// mediaPart returns the part of a request that contains the image or file in p.
func mediaPart(p perdure.Part) part {
	if p.URL == "" {
		return part{InlineData: &blob{MimeType: p.MimeType, Data: p.Data}}
	}
	mime, _ := llm.MediaType(p)
	return part{FileData: &link{MimeType: mime, URI: p.URL}}
}

// what returns "image" or "file", depending on the content of p. The word replaces the part in a
// function result, which cannot contain images or files.
func what(p part) string {
	switch {
	case p.InlineData != nil && !strings.HasPrefix(p.InlineData.MimeType, "image/"):
		return "file"
	case p.FileData != nil && p.FileData.MimeType != "" && !strings.HasPrefix(p.FileData.MimeType, "image/"):
		return "file"
	}
	return "image"
}
