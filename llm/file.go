package llm

import (
	"net/url"
	"path"
	"strings"

	"github.com/perdure/perdure"
)

// PDF is the media type of PDF files.
const PDF = "application/pdf"

// mediaTypes maps the extension of a URL's path to its media type.
var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".pdf": PDF, ".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".json": "application/json",
}

// MediaType returns the media type of an image or a file. If the part does not state a type, the
// type follows from the extension of the file name or of the URL's path. Without an extension the
// result is "", false. For an extension that is not in mediaTypes, the result is "", true.
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

// FileName returns the name of a file. If the file has no name, FileName returns a default name,
// because providers require a name.
func FileName(p perdure.Part) string {
	if p.Filename != "" {
		return p.Filename
	}
	if p.MimeType == PDF {
		return "file.pdf"
	}
	return "file"
}
