package openai

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
)

// givenContent is a content part of an input item.
type givenContent struct {
	Type     string  `json:"type"`
	Text     string  `json:"text"`
	Refusal  string  `json:"refusal"`
	ImageURL *string `json:"image_url"`
	Detail   string  `json:"detail"`
	FileData string  `json:"file_data"`
	FileURL  string  `json:"file_url"`
	FileID   string  `json:"file_id"`
	Filename string  `json:"filename"`
}

// contentParts parses a string or a list of content parts.
func contentParts(raw json.RawMessage, at string) ([]perdure.Part, error) {
	var text string
	if !given(raw) {
		return nil, missing(at)
	}
	if json.Unmarshal(raw, &text) == nil {
		return []perdure.Part{perdure.Text(text)}, nil
	}
	var all []givenContent
	if err := decode(raw, at, &all, "a string or an array of content"); err != nil {
		return nil, err
	}
	parts := []perdure.Part{}
	for i, c := range all {
		p, err := c.part(at + "[" + strconv.Itoa(i) + "]")
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func (c givenContent) part(at string) (perdure.Part, error) {
	switch c.Type {
	case contentInput, contentOutput, "text":
		return perdure.Text(c.Text), nil
	case "refusal":
		return perdure.Text(c.Refusal), nil
	case contentImage:
		return c.image(at)
	case contentFile:
		return c.file(at)
	}
	return perdure.Part{}, unsupportedValue(at+".type", "'%s' is none of input_text, input_image, input_file, output_text, refusal.", c.Type)
}

// image parses the image_url of an image, which is a URL or a data URL. The server never fetches a
// URL.
func (c givenContent) image(at string) (perdure.Part, error) {
	p := perdure.Part{Type: perdure.PartImage, Detail: c.Detail}
	if err := oneOf(at+".detail", c.Detail, "", "auto", "low", "high", "original"); err != nil {
		return p, err
	}
	if c.Detail == "auto" {
		p.Detail = "" // "auto" is the default
	}
	if c.FileID != "" {
		return p, unsupported(at+".file_id", "give the image's data or its URL in 'image_url'")
	}
	if c.ImageURL == nil {
		return p, missing(at + ".image_url")
	}
	if !strings.HasPrefix(*c.ImageURL, "data:") {
		p.URL = *c.ImageURL
		return p, checkMedium(p, at, ".image_url", "invalid_image_url")
	}
	mime, data, ok := dataOf(*c.ImageURL)
	if !ok || !strings.HasPrefix(mime, "image/") {
		return p, unsupportedValue(at+".image_url", "give the image's URL, or its data as data:image/...;base64,...")
	}
	if _, err := base64.StdEncoding.DecodeString(data); err != nil {
		return p, invalid(at+".image_url", "invalid_base64", "Invalid '%s.image_url': the data is not base64.", at)
	}
	p.MimeType, p.Data = mime, data
	return p, checkMedium(p, at, ".image_url", "invalid_image")
}

// file parses a file, which has data, a URL or an id.
func (c givenContent) file(at string) (perdure.Part, error) {
	p := perdure.Part{Type: perdure.PartFile, URL: c.FileURL, FileID: c.FileID, Filename: c.Filename}
	if err := oneOf(at+".detail", c.Detail, "", "auto", "low", "high"); err != nil {
		return p, err
	}
	switch {
	case c.FileData == "" && c.FileURL == "" && c.FileID == "":
		return p, missing(at + ".file_data")
	case c.FileData != "" && (c.FileURL != "" || c.FileID != "") || c.FileURL != "" && c.FileID != "":
		return p, invalid(at, "mutually_exclusive_parameters", "Invalid '%s': give one of 'file_data', 'file_url' and 'file_id'.", at)
	case c.FileData != "":
		p.MimeType, p.Data = fileData(c)
		return p, checkMedium(p, at, ".file_data", "invalid_file")
	case c.FileURL != "":
		return p, checkMedium(p, at, ".file_url", "invalid_file_url")
	}
	return p, checkMedium(p, at, ".file_id", "invalid_value")
}

// fileData parses the data of a file: a data URL, or plain base64. For plain base64, the type is
// derived from the file name.
func fileData(c givenContent) (mime, data string) {
	if mime, data, ok := dataOf(c.FileData); ok {
		return mime, data
	}
	ending := strings.ToLower(c.Filename[strings.LastIndex(c.Filename, ".")+1:])
	if mime = fileTypes[ending]; mime == "" {
		mime = "application/octet-stream"
	}
	return mime, c.FileData
}

// fileTypes maps file extensions to media types.
var fileTypes = map[string]string{
	"pdf": "application/pdf", "txt": "text/plain", "md": "text/markdown", "csv": "text/csv", "html": "text/html", "json": "application/json",
}

// dataOf parses a base64 data URL (RFC 2397). dataOf leaves out the parameters of the media type.
func dataOf(url string) (mime, data string, ok bool) {
	head, data, found := strings.Cut(url, ",")
	head, isData := strings.CutPrefix(head, "data:")
	mime, isBase64 := strings.CutSuffix(head, ";base64")
	mime, _, _ = strings.Cut(mime, ";")
	return strings.ToLower(mime), data, found && isData && isBase64
}

// checkMedium checks an image or a file by the rules of all APIs. The parameter `at` is the path of
// the content part. The error is about the part's member `member`, or about "filename" if the file
// name is wrong.
func checkMedium(p perdure.Part, at, member, code string) error {
	var bad *perdure.Error
	if !errors.As(perdure.CheckParts(perdure.RoleUser, "part", []perdure.Part{p}), &bad) {
		return nil
	}
	field := bad.Fields[0]
	if strings.HasSuffix(field.Location, ".filename") {
		member = ".filename"
	}
	what := "image"
	if p.Type == perdure.PartFile {
		what = "file"
	}
	if p.URL != "" {
		what = "URL"
	}
	return invalid(at+member, code, "Invalid '%s%s': the %s %s.", at, member, what, field.Message)
}
