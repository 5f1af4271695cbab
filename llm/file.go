package llm

import (
	"net/url"
	"path"
	"strings"

	"github.com/perdure/perdure"
)

// PDF is the media type of PDF files. Most providers accept them.
const PDF = "application/pdf"

// mediaTypes maps the extension of a URL's path to its media type.
var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": PDF, ".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".json": "application/json",
}

// MediaType returns the media type of an image or a file. It is the part's own type. If the part
// has none, it is the type for the extension of the part's file name or of its URL's path. The
// result known is false if the part has neither a type nor an extension. If known is true and mime
// is "", the extension has no entry in mediaTypes.
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

// DataURL returns the data of an image or a file as a data URL (RFC 2397).
func DataURL(p perdure.Part) string { return "data:" + p.MimeType + ";base64," + p.Data }

// FileName returns the name of a file. If it has none, it returns a default name, because providers
// require one.
func FileName(p perdure.Part) string {
	if p.Filename != "" {
		return p.Filename
	}
	if p.MimeType == PDF {
		return "file.pdf"
	}
	return "file"
}
