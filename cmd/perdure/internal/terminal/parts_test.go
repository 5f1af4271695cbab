package terminal

import (
	"testing"

	"github.com/perdure/perdure"
)

// TestImagesAndFilesAreNamed checks that the name of an image or a file is printed at its position
// among the texts.
func TestImagesAndFilesAreNamed(t *testing.T) {
	image := perdure.Part{Type: perdure.PartImage, Data: "aGk=", MimeType: "image/png"}
	link := perdure.Part{Type: perdure.PartImage, URL: "https://example.com/a.png"}
	file := perdure.Part{Type: perdure.PartFile, FileID: "f", Filename: "a.pdf"}
	for want, parts := range map[string][]perdure.Part{
		"":                             nil,
		"ab":                           {perdure.Text("a"), perdure.Text("b")},
		"a\n\n":                        {perdure.Text("a\n\n")},
		"[an image of type image/png]": {image},
		"a\n[an image at https://example.com/a.png]\n[a file \"a.pdf\" with the id \"f\"]\nb": {perdure.Text("a"), link, file, perdure.Text("b")},
	} {
		if got := partsText(parts); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
