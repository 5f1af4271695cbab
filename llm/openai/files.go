package openai

import (
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// takes reports whether the API accepts a part: an image by its URL, a PDF by its data, and any
// file by its id.
func takes(p perdure.Part) bool {
	return p.Type == perdure.PartImage || p.FileID != "" || p.Data != "" && p.MimeType == llm.PDF
}

func file(p perdure.Part) openai.ChatCompletionContentPartFileFileParam {
	if p.FileID != "" {
		return openai.ChatCompletionContentPartFileFileParam{FileID: param.NewOpt(p.FileID)}
	}
	return openai.ChatCompletionContentPartFileFileParam{
		FileData: param.NewOpt(llm.DataURL(p)), Filename: param.NewOpt(llm.FileName(p)),
	}
}
