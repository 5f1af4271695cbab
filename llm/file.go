package llm

import (
	"net/url"
	"path"
	"strings"

	"github.com/perdure/perdure"
)

// PDF is the media type of files that most providers accept.
const PDF = "application/pdf"

// mediaTypes are the media types of URLs by the extension of the path.
var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": PDF, ".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".json": "application/json",
}

// MediaType returns the media type of an image or a file. That is the part's own type, or else the
// type for the extension of its name or its URL's path. The result known is false if the part has
// neither a type nor an extension. If known is true and mime is empty, the extension has no entry
// in mediaTypes.
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

// FileName returns the name of a file, or a default, because providers require one.
func FileName(p perdure.Part) string {
	if p.Filename != "" {
		return p.Filename
	}
	if p.MimeType == PDF {
		return "file.pdf"
	}
	return "file"
}
