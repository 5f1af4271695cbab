package anthropic

import (
	"encoding/base64"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// takes reports whether the API accepts the image or file p: an image by its URL, a PDF by its data
// or its URL, and plain text.
func takes(p perdure.Part) bool {
	mime, known := llm.MediaType(p)
	switch {
	case p.Type == perdure.PartImage:
		return true
	case p.FileID != "":
		return false
	case p.URL != "":
		return mime == llm.PDF || !known
	}
	return mime == llm.PDF || mime == "text/plain" && plainText(p) != ""
}

// document returns the content block for the file p, which the function takes has accepted.
func document(p perdure.Part) anthropic.ContentBlockParamUnion {
	var block anthropic.ContentBlockParamUnion
	switch {
	case p.URL != "":
		block = anthropic.NewDocumentBlock(anthropic.URLPDFSourceParam{URL: p.URL})
	case p.MimeType == llm.PDF:
		block = anthropic.NewDocumentBlock(anthropic.Base64PDFSourceParam{Data: p.Data})
	default:
		block = anthropic.NewDocumentBlock(anthropic.PlainTextSourceParam{Data: plainText(p)})
	}
	if p.Filename != "" {
		block.OfDocument.Title = param.NewOpt(p.Filename)
	}
	return block
}

// plainText returns the content of a text file. It returns "" for blank content, which the API refuses.
func plainText(p perdure.Part) string {
	text, err := base64.StdEncoding.DecodeString(p.Data)
	if err != nil || strings.TrimSpace(string(text)) == "" {
		return ""
	}
	return string(text)
}
