package perdure

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxImageBytes is the maximum decoded size of an image.
const MaxImageBytes = 20 << 20

// imageHeader is the number of bytes at the beginning of an image that determine its type.
const imageHeader = 12

// imageType returns the MIME type of an image by its first bytes. It recognizes png, jpeg, gif and
// webp, the types that every provider accepts; for other data it returns "". The signatures are
// those of the WHATWG MIME Sniffing Standard.
func imageType(header []byte) string {
	h := string(header)
	switch {
	case strings.HasPrefix(h, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(h, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(h, "GIF87a"), strings.HasPrefix(h, "GIF89a"):
		return "image/gif"
	case strings.HasPrefix(h, "RIFF") && len(h) >= imageHeader && h[8:12] == "WEBP":
		return "image/webp"
	}
	return ""
}

// details are the values of Part.Detail.
var details = []string{"", "low", "high", "auto", "original"}

// checkImage refuses an image that has neither data nor a URL. The data must be base64, at most
// MaxImageBytes, complete, with a valid structure, and of the given MIME type, because providers refuse
// other data. The image at a URL is not checked.
func checkImage(at string, p Part) error {
	if !slices.Contains(details, p.Detail) {
		return FieldErrorf(at+".detail", "is %s; it is low, high, auto or original", clip(p.Detail))
	}
	if p.URL != "" {
		return checkLink(at, p)
	}
	if p.Data == "" {
		return FieldErrorf(at+".data", "is missing; give the image's bytes as base64, or its url")
	}
	if base64.StdEncoding.DecodedLen(len(p.Data)) > MaxImageBytes+2 { // DecodedLen counts up to two bytes of padding
		return FieldErrorf(at+".data", "is an image of over %d bytes", MaxImageBytes)
	}
	found, size, err := inspectImage(p.Data)
	switch {
	case errors.Is(err, errNoBase64):
		return FieldErrorf(at+".data", "is not valid base64 (RFC 4648, with padding, without line breaks)")
	case size > MaxImageBytes:
		return FieldErrorf(at+".data", "is an image of %d bytes; the limit is %d", size, MaxImageBytes)
	case found == "":
		return FieldErrorf(at+".data", "is no png, jpeg, gif or webp image")
	case err != nil:
		return FieldErrorf(at+".data", "is not a whole image: a %s that is cut off or damaged", found)
	case p.MimeType == "":
		return FieldErrorf(at+".mimeType", "is missing; the data is %s", found)
	case p.MimeType != found:
		return FieldErrorf(at+".mimeType", "is %s, but the data is %s", clip(p.MimeType), found)
	}
	return nil
}

// errNoBase64 is the error for data that is not valid base64.
var errNoBase64 = errors.New("not base64")

// inspectImage returns the MIME type and the size in bytes of an image in base64. The type is "" for
// data that is not png, jpeg, gif or webp. Errors: errNoBase64, or the error of walkImage for a damaged
// image. The decoded image is not held in memory.
func inspectImage(data string) (mime string, size int, err error) {
	// The decoder of Go accepts line breaks, and text after the padding. Providers accept neither.
	if len(data)%4 != 0 || strings.ContainsAny(data, "\r\n") || strings.Contains(data[:max(0, len(data)-2)], "=") {
		return "", 0, errNoBase64
	}
	in := &countedReader{r: base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))}
	r := bufio.NewReader(in)
	header, _ := r.Peek(imageHeader) // if Peek fails, the data is too short for an image
	if mime = imageType(header); mime != "" {
		err = walkImage(mime, r)
	}
	if _, rest := io.Copy(io.Discard, r); rest != nil {
		return "", 0, errNoBase64
	}
	return mime, in.n, err
}

// countedReader counts the bytes that are read from r.
type countedReader struct {
	r io.Reader
	n int
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// clip shortens a value for use in an error message.
func clip(s string) string {
	const most = 60
	if s = fmt.Sprintf("%q", s); len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + `..."`
}
