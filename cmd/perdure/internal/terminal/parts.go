package terminal

import (
	"strings"

	"github.com/perdure/perdure"
)

// partsText returns the texts of parts, with the names of images and files.
func partsText(parts []perdure.Part) string {
	var words strings.Builder
	named := false // the last line is the name of an image or a file; text after it begins a new line
	for _, p := range parts {
		if named && (p.Type != perdure.PartText || p.Text != "") {
			words.WriteByte('\n')
			named = false
		}
		switch p.Type {
		case perdure.PartText:
			words.WriteString(p.Text)
		case perdure.PartImage, perdure.PartFile:
			if text := words.String(); text != "" && !strings.HasSuffix(text, "\n") {
				words.WriteByte('\n')
			}
			words.WriteString("[" + p.Describe() + "]")
			named = true
		}
	}
	return words.String()
}
