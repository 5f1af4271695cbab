package chat

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMessagesHaveTheImagesThatTheyName checks that a message that names images contains them as parts,
// for each way of writing a path.
func TestMessagesHaveTheImagesThatTheyName(t *testing.T) {
	root := t.TempDir()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.png", "with space.PNG"} {
		if err := os.WriteFile(filepath.Join(root, name), picture.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "no.png"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"cut.png": picture.Bytes()[:picture.Len()-9], "is-a.gif": picture.Bytes()} {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "folder.png"), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{
		"what is a.png?":             0, // the path ends with a question mark
		"what is in a.png":           1,
		"@a.png and ./a.png":         2,
		`'with space.PNG' now`:       1,
		`@with\ space.PNG now`:       1,
		filepath.Join(root, "a.png"): 1,
		"it's missing.png":           0,
		"no image at all":            0,
	} {
		parts, err := messageParts(root, text)
		if err != nil || max(len(parts)-1, 0) != want {
			t.Errorf("%q has %d parts, %v", text, len(parts), err)
			continue
		}
		if want > 0 && (parts[0].Text != text || parts[1].MimeType != "image/png" || parts[1].Data != base64.StdEncoding.EncodeToString(picture.Bytes())) {
			t.Errorf("%q is %+v", text, parts)
		}
	}
	for name, want := range map[string]string{
		"missing.png": "no such file", "no.png": " is no png, jpeg, gif or webp image", "folder.png": " is no file",
		"cut.png": " is not a whole image", "is-a.gif": ", but the data is image/png",
	} {
		parts, err := messageParts(root, "a.png and @"+name)
		if err == nil || !strings.Contains(err.Error(), filepath.Join(root, name)) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "parts[") {
			t.Errorf("%s gives %d parts, %v", name, len(parts), err)
		}
	}
}

func TestPathWords(t *testing.T) {
	got := pathWords("it's \"a b\"  @'c d' e\\ f\ng")
	if want := []string{"it's", "a b", "@c d", "e f", "g"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestFilesAreOffered checks that completion offers files by path and by name, and not those of skipped
// folders.
func TestFilesAreOffered(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"main.go", "docs/main-page.md", "docs/a b.md", ".git/main"} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var o offers
	o.files = listFiles(root)
	for prefix, want := range map[string]string{
		"main": "@main.go @docs/main-page.md", "docs/": `@docs/ @docs/a\ b.md @docs/main-page.md`, "PAGE": "@docs/main-page.md", "none": "",
	} {
		var got []string
		for _, c := range o.fileCandidates(prefix) {
			got = append(got, c.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s offers %q, want %s", prefix, got, want)
		}
	}
}
