package perdure

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	// MaxFileBytes is the maximum decoded size of a file.
	MaxFileBytes = MaxImageBytes
	// MaxURLBytes is the maximum length of the URL of an image or a file.
	MaxURLBytes = 8 << 10
	// maxName is the maximum length of the name and the id of a file, in bytes.
	maxName = 255
)

// mimeType matches a media type of RFC 6838 without parameters.
var mimeType = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$`)

// checkFile refuses a file over MaxFileBytes. Exactly one of the file's data, URL and id must be set.
// Data with the type PDF or text must match that type.
func checkFile(at string, p Part) error {
	given := 0
	for _, s := range []string{p.Data, p.URL, p.FileID} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return FieldErrorf(at+".data", "is what a file is given by, or url, or fileId: exactly one of them")
	case len(p.Filename) > maxName || strings.ContainsFunc(p.Filename, isControl):
		return FieldErrorf(at+".filename", "has at most %d bytes, and no control characters", maxName)
	case len(p.FileID) > maxName || strings.ContainsFunc(p.FileID, isControl):
		return FieldErrorf(at+".fileId", "has at most %d bytes, and no control characters", maxName)
	case p.URL != "":
		return checkLink(at, p)
	case p.FileID != "":
		return checkNoType(at, p)
	}
	return checkFileData(at, p)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// checkNoType refuses a MIME type on a part with a URL or an id, because only the provider knows the
// type of that content.
func checkNoType(at string, p Part) error {
	if p.MimeType != "" {
		return FieldErrorf(at+".mimeType", "goes with data")
	}
	return nil
}

// checkLink refuses a part that has both a URL and data, or both a URL and a MIME type. It refuses a
// URL that is too long, has another scheme than http and https, or contains a user or a password.
func checkLink(at string, p Part) error {
	if p.Data != "" {
		return FieldErrorf(at+".url", "stands in place of data; give one of them")
	}
	if len(p.URL) > MaxURLBytes {
		return FieldErrorf(at+".url", "has %d bytes; the limit is %d", len(p.URL), MaxURLBytes)
	}
	u, err := url.Parse(p.URL)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || strings.ContainsFunc(p.URL, isNoURL):
		return FieldErrorf(at+".url", "must be an http or https URL")
	case u.User != nil:
		return FieldErrorf(at+".url", "must hold no user and no password")
	}
	return checkNoType(at, p)
}

// isNoURL reports whether a URL must escape the character (RFC 3986): a space, a control character, or
// a character outside ASCII.
func isNoURL(r rune) bool { return r <= ' ' || r >= 0x7f }

func checkFileData(at string, p Part) error {
	switch {
	case !mimeType.MatchString(p.MimeType):
		return FieldErrorf(at+".mimeType", "is %s; give the file's media type, such as application/pdf", clip(p.MimeType))
	case base64.StdEncoding.DecodedLen(len(p.Data)) > MaxFileBytes+2: // DecodedLen counts up to two bytes of padding
		return FieldErrorf(at+".data", "is a file of over %d bytes", MaxFileBytes)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(p.Data)
	switch {
	case err != nil || strings.ContainsAny(p.Data, "\r\n"):
		return FieldErrorf(at+".data", "is not valid base64 (RFC 4648, with padding, without line breaks)")
	case len(data) > MaxFileBytes:
		return FieldErrorf(at+".data", "is a file of %d bytes; the limit is %d", len(data), MaxFileBytes)
	case p.MimeType == "application/pdf" && !strings.HasPrefix(string(data[:min(len(data), 5)]), "%PDF-"):
		return FieldErrorf(at+".data", "is no PDF: it does not begin with %%PDF-")
	case strings.HasPrefix(p.MimeType, "text/") && !utf8.Valid(data):
		return FieldErrorf(at+".data", "is no text in UTF-8, as its mimeType says")
	}
	return nil
}

// Describe returns a description of an image or a file: its URL, its name or its type. It is shown to
// people, and to models whose provider does not accept the part.
func (p Part) Describe() string {
	what := "a file"
	if p.Type == PartImage {
		what = "an image"
	}
	if p.Filename != "" {
		what += " " + clip(p.Filename)
	}
	switch {
	case p.URL != "":
		return what + " at " + p.URL
	case p.FileID != "":
		return what + " with the id " + clip(p.FileID)
	case p.MimeType != "":
		return what + " of type " + p.MimeType
	}
	return what
}
