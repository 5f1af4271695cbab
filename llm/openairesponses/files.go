package openairesponses

import (
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// takes reports whether the API accepts a part. It accepts all images and files.
func takes(perdure.Part) bool { return true }

func imageURL(p perdure.Part) string {
	if p.URL != "" {
		return p.URL
	}
	return llm.DataURL(p)
}

func inputFile(p perdure.Part) *responses.ResponseInputFileParam {
	var f responses.ResponseInputFileParam
	f.FileURL, f.FileID, f.FileData, f.Filename = fileOf(p)
	return &f
}

func outputFile(p perdure.Part) *responses.ResponseInputFileContentParam {
	var f responses.ResponseInputFileContentParam
	f.FileURL, f.FileID, f.FileData, f.Filename = fileOf(p)
	return &f
}

// fileOf returns the members of a file. Exactly one of url, id and data is set. name is set only
// with data, because the API refuses it otherwise.
func fileOf(p perdure.Part) (url, id, data, name param.Opt[string]) {
	switch {
	case p.URL != "":
		url = param.NewOpt(p.URL)
	case p.FileID != "":
		id = param.NewOpt(p.FileID)
	default:
		data, name = param.NewOpt(llm.DataURL(p)), param.NewOpt(llm.FileName(p))
	}
	return url, id, data, name
}
