package chat

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
)

// imageTypes has the MIME types of images, by the extension of the file name.
var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
}

// messageParts returns the parts of a message that names images: first the text, then the images. An image
// is named by its path as a separate word, relative to root, with or without @ before it. A path without @
// that does not exist is ordinary text. The result is nil if the text names no image.
func messageParts(root, text string) ([]perdure.Part, error) {
	parts := []perdure.Part{perdure.Text(text)}
	for _, word := range pathWords(text) {
		path, marked := strings.CutPrefix(word, "@")
		mime := imageTypes[strings.ToLower(filepath.Ext(path))]
		if mime == "" {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		image, err := readImage(path)
		if os.IsNotExist(err) && !marked {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the image was not read, and the message was not sent: %w", err)
		}
		part := perdure.Part{Type: perdure.PartImage, MimeType: mime, Data: base64.StdEncoding.EncodeToString(image)}
		if err := checkImage(part); err != nil {
			return nil, fmt.Errorf("%s %w; the message was not sent", path, err)
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 {
		return nil, nil
	}
	return parts, perdure.CheckUserParts("parts", parts)
}

// checkImage returns an error that says what is wrong with an image. In the message to the user,
// the error follows the path of the image.
func checkImage(image perdure.Part) error {
	err := perdure.CheckUserParts("parts", []perdure.Part{image})
	var coded *perdure.Error
	if errors.As(err, &coded) && len(coded.Fields) > 0 {
		return errors.New(coded.Fields[0].Message)
	}
	return err
}

// pathWords splits a text into words. Terminals insert the path of a dropped file in quotes, or with a
// backslash before each space: such a path is one word.
func pathWords(text string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	escaped := false
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
		}
		word.Reset()
	}
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote == 0:
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\'') && (word.Len() == 0 || word.String() == "@"):
			quote = r
		case quote == 0 && strings.ContainsRune(" \t\n", r):
			end()
		default:
			word.WriteRune(r)
		}
	}
	end()
	return words
}

// readImage reads a regular file. It fails if the file is larger than perdure.MaxImageBytes.
func readImage(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, perdure.MaxImageBytes+1))
	if err == nil && len(raw) > perdure.MaxImageBytes {
		return nil, fmt.Errorf("%s has over %d bytes", path, perdure.MaxImageBytes)
	}
	return raw, err
}

// partsValue returns the value of a signal userMessage that has the parts.
func partsValue(parts []perdure.Part) (json.RawMessage, error) {
	return json.Marshal(map[string][]perdure.Part{"parts": parts})
}
