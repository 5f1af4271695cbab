package perdure

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxImageBytes bounds an image, decoded.
const MaxImageBytes = 20 << 20

// imageHeader is how many bytes tell the type of an image.
const imageHeader = 12

// imageType returns the MIME type of an image by its first bytes, "" if it is none
// of the types that every provider takes: png, jpeg, gif and webp. The signatures are those of the WHATWG MIME Sniffing Standard.
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

// checkImage refuses an image that a provider would: one without data, whose data
// is not base64, over MaxImageBytes, or whose bytes are not of its MIME type.
func checkImage(at string, p Part) error {
	if p.Data == "" {
		return FieldErrorf(at+".data", "is missing; give the image's bytes as base64")
	}
	if base64.StdEncoding.DecodedLen(len(p.Data)) > MaxImageBytes+2 { // two bytes of padding at most
		return FieldErrorf(at+".data", "is an image of over %d bytes", MaxImageBytes)
	}
	header, size, err := decodeImage(p.Data)
	switch {
	case err != nil:
		return FieldErrorf(at+".data", "is not valid base64 (RFC 4648, with padding, without line breaks)")
	case size > MaxImageBytes:
		return FieldErrorf(at+".data", "is an image of %d bytes; the limit is %d", size, MaxImageBytes)
	}
	found := imageType(header)
	switch {
	case found == "":
		return FieldErrorf(at+".data", "is no png, jpeg, gif or webp image")
	case p.MimeType == "":
		return FieldErrorf(at+".mimeType", "is missing; the data is %s", found)
	case p.MimeType != found:
		return FieldErrorf(at+".mimeType", "is %s, but the data is %s", clip(p.MimeType), found)
	}
	return nil
}

// decodeImage returns the first bytes of an image and its size. It does not hold
// the rest.
func decodeImage(data string) (header []byte, size int, err error) {
	if strings.ContainsAny(data, "\r\n") || strings.Contains(data[:max(0, len(data)-2)], "=") {
		return nil, 0, errors.New("line breaks or padding inside") // the decoder may skip them; providers do not
	}
	in := base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))
	header = make([]byte, imageHeader)
	n, err := io.ReadFull(in, header)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && len(data)%4 == 0 {
		return header[:n], n, nil
	}
	if err != nil {
		return nil, 0, err
	}
	rest, err := io.Copy(io.Discard, in)
	return header, n + int(rest), err
}

// clip shortens a value that an error repeats.
func clip(s string) string {
	const most = 60
	if s = fmt.Sprintf("%q", s); len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + `..."`
}
