package llm

import (
	"net/url"
	"path"
	"strings"

	"github.com/perdure/perdure"
)

// PDF is the media type of the files that most providers take.
const PDF = "application/pdf"

// mediaTypes are those of what a URL may lead to, by the ending of its path.
var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": PDF, ".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".json": "application/json",
}

// MediaType returns the media type of an image or a file: its own, or what its name or
// the path of its URL ends like. known is false where neither has an ending; a type that
// is known and empty is of another ending.
func MediaType(p perdure.Part) (mime string, known bool) {
	if p.MimeType != "" {
		return p.MimeType, true
	}
	ending := path.Ext(p.Filename)
	if u, err := url.Parse(p.URL); ending == "" && err == nil {
		ending = path.Ext(u.Path)
	}
	mime, known = mediaTypes[strings.ToLower(ending)]
	return mime, known || ending != ""
}

// DataURL returns the data of an image or a file as a URL (RFC 2397).
func DataURL(p perdure.Part) string { return "data:" + p.MimeType + ";base64," + p.Data }

// FileName returns the name of a file: providers want one.
func FileName(p perdure.Part) string {
	if p.Filename != "" {
		return p.Filename
	}
	if p.MimeType == PDF {
		return "file.pdf"
	}
	return "file"
}
