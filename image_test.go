package perdure_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// imageBytes holds an image of each type that providers accept.
var imageBytes = map[string]string{
	"image/png":  encodedImage(func(w io.Writer, i image.Image) error { return png.Encode(w, i) }),
	"image/jpeg": encodedImage(func(w io.Writer, i image.Image) error { return jpeg.Encode(w, i, nil) }),
	"image/gif":  encodedImage(func(w io.Writer, i image.Image) error { return gif.Encode(w, i, nil) }),
	"image/webp": "RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00",
}

func encodedImage(encode func(io.Writer, image.Image) error) string {
	picture := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	for i := range picture.Pix {
		picture.Pix[i] = byte(i * i)
	}
	var b strings.Builder
	if err := encode(&b, picture); err != nil {
		panic(err)
	}
	return b.String()
}

func imageOf(data, mime string) perdure.Part {
	return perdure.Part{Type: perdure.PartImage, Data: base64.StdEncoding.EncodeToString([]byte(data)), MimeType: mime}
}

// TestImagesAreCheckedByTheirBytes checks that CheckContent accepts an image only if its data is
// base64, is a complete png, jpeg, gif or webp, and matches its MIME type. The same holds in a tool's
// result. The error names the field.
func TestImagesAreCheckedByTheirBytes(t *testing.T) {
	whole := imageBytes["image/png"]
	valid := base64.StdEncoding.EncodeToString([]byte(whole))
	for name, c := range map[string]struct {
		part  perdure.Part
		field string // the invalid field; "" if the image is accepted
	}{
		"png":               {imageOf(whole, "image/png"), ""},
		"jpeg":              {imageOf(imageBytes["image/jpeg"], "image/jpeg"), ""},
		"gif":               {imageOf(imageBytes["image/gif"], "image/gif"), ""},
		"webp":              {imageOf(imageBytes["image/webp"], "image/webp"), ""},
		"no data":           {perdure.Part{Type: perdure.PartImage, MimeType: "image/png"}, "data"},
		"cut off":           {imageOf(whole[:len(whole)/2], "image/png"), "data"},
		"signature alone":   {imageOf(whole[:8], "image/png"), "data"},
		"no image":          {imageOf("hi", "image/png"), "data"},
		"svg":               {imageOf("<svg/>", "image/svg+xml"), "data"},
		"RIFF of a sound":   {imageOf("RIFF\x10\x00\x00\x00WAVEfmt ", "image/webp"), "data"},
		"other type":        {imageOf(whole, "image/jpeg"), "mimeType"},
		"no type":           {imageOf(whole, ""), "mimeType"},
		"type in capitals":  {imageOf(whole, "IMAGE/PNG"), "mimeType"},
		"not base64":        {perdure.Part{Type: perdure.PartImage, Data: "iVBORw0KGgo=!", MimeType: "image/png"}, "data"},
		"cut base64":        {perdure.Part{Type: perdure.PartImage, Data: valid[:len(valid)-1], MimeType: "image/png"}, "data"},
		"unpadded":          {perdure.Part{Type: perdure.PartImage, Data: strings.TrimRight(imageOf(whole+"x", "").Data, "="), MimeType: "image/png"}, "data"},
		"url-safe alphabet": {perdure.Part{Type: perdure.PartImage, Data: valid + "_-_-", MimeType: "image/png"}, "data"},
		"broken into lines": {perdure.Part{Type: perdure.PartImage, Data: valid[:8] + "\r\n" + valid[8:], MimeType: "image/png"}, "data"},
		"two texts":         {perdure.Part{Type: perdure.PartImage, Data: imageOf(whole+"x", "").Data + valid, MimeType: "image/png"}, "data"},
		"data URL":          {perdure.Part{Type: perdure.PartImage, Data: "data:image/png;base64," + valid, MimeType: "image/png"}, "data"},
		"broken at its end": {perdure.Part{Type: perdure.PartImage, Data: base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(whole), 9)) + "*AAA", MimeType: "image/png"}, "data"},
		"unknown type":      {perdure.Part{Type: "video"}, "type"},
		"no type at all":    {perdure.Part{Text: "x"}, "type"},
	} {
		first := perdure.Text("see:")
		user := message(perdure.RoleUser, first, first, c.part)
		result := message(perdure.RoleToolResult, perdure.Part{Type: perdure.PartToolResult, ToolCallID: "c", Parts: []perdure.Part{first, c.part}})
		wantContentField(t, name, user, "content.parts[2].", c.field)
		wantContentField(t, name+" in a result", result, "content.parts[0].parts[1].", c.field)
		if c.part.Type == perdure.PartImage {
			wantContentField(t, name+" of an assistant", message(perdure.RoleAssistant, c.part), "content.parts[0].", c.field)
		}
	}
}

// TestImagesAreWhole checks that an image that is cut off at any byte is refused. So is a PNG in which
// the lowest bit of any byte is changed. Bytes after the image are accepted.
func TestImagesAreWhole(t *testing.T) {
	for mime, data := range imageBytes {
		accepted := func(data string) bool {
			return perdure.CheckParts(perdure.RoleUser, "parts", []perdure.Part{imageOf(data, mime)}) == nil
		}
		if !accepted(data) || !accepted(data+"what follows") {
			t.Errorf("a whole %s is refused", mime)
		}
		for n := range data {
			if accepted(data[:n]) {
				t.Errorf("the first %d of the %d bytes of a %s are accepted", n, len(data), mime)
			}
			changed := []byte(data)
			changed[n] ^= 1
			if mime == "image/png" && accepted(string(changed)) {
				t.Errorf("a PNG with another byte at %d is accepted", n)
			}
		}
	}
}

// TestImagesWithoutContentAreRefused checks that images with a valid beginning but no content, or with
// an inconsistent structure, are refused.
func TestImagesWithoutContentAreRefused(t *testing.T) {
	whole := imageBytes
	for _, c := range []struct{ mime, data string }{
		{"image/png", whole["image/png"][:33] + "\x00\x00\x00\x00IEND\xaeB`\x82"},
		{"image/png", "\x89PNG\r\n\x1a\n" + whole["image/png"][33:]},
		{"image/jpeg", "\xff\xd8\xff\xd9"},
		{"image/jpeg", "\xff\xd8\xff\xda\x00\x02\xff\xd9"},
		{"image/jpeg", "\xff\xd8\xff\xe0\x00\x01"},
		{"image/jpeg", "\xff\xd8\xff\x00" + whole["image/jpeg"][2:]},
		{"image/jpeg", "\xff\xd8\xff" + strings.Repeat("x", 9000)},
		{"image/gif", "GIF89a\x01\x00\x01\x00\x00\x00\x00;"},
		{"image/gif", "GIF89a\x00\x00\x01\x00" + whole["image/gif"][10:]},
		{"image/gif", "GIF89a\x01\x00\x01\x00\x00\x00\x00x;"},
		{"image/gif", "GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x00;"},
		{"image/webp", "RIFF\x04\x00\x00\x00WEBP"},
		{"image/webp", "RIFF\x0c\x00\x00\x00WEBPVP8 \x00\x00\x00\x00"},
		{"image/webp", "RIFF\x10\x00\x00\x00WEBPVP8 \xff\xff\xff\xff" + strings.Repeat("x", 99)},
	} {
		err := perdure.CheckParts(perdure.RoleUser, "parts", []perdure.Part{imageOf(c.data, c.mime)})
		if err == nil || !strings.Contains(err.Error(), "cut off or damaged") {
			t.Errorf("%.40q: %v", c.data, err)
		}
	}
}

func TestImagesAreBounded(t *testing.T) {
	whole := imageBytes["image/png"]
	for _, c := range []struct {
		over int
		want bool
	}{{0, true}, {1, false}, {2, false}, {9, false}} {
		part := imageOf(whole+strings.Repeat("x", perdure.MaxImageBytes-len(whole)+c.over), "image/png")
		err := perdure.CheckParts(perdure.RoleUser, "parts", []perdure.Part{part})
		if (err == nil) != c.want {
			t.Errorf("%d bytes over the limit: %v", c.over, err)
		}
	}
}

func wantContentField(t *testing.T, name string, m perdure.Message, at, field string) {
	t.Helper()
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		t.Fatal(err)
	}
	err = perdure.CheckContent(e)
	if field == "" {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	var coded *perdure.Error
	want := "entries." + e.ID.String() + "." + at + field
	if !errors.As(err, &coded) || coded.Code != perdure.InvalidTranscript || len(coded.Fields) != 1 || coded.Fields[0].Location != want {
		t.Errorf("%s: %v, want invalid_transcript at %s", name, err, want)
		return
	}
	if !strings.Contains(coded.Message, at+field) || len(coded.Message) > 300 {
		t.Errorf("%s: the message is %q", name, coded.Message)
	}
}

// TestAcceptablePartsAreAccepted checks that CheckParts accepts the result of AcceptableParts. The
// result has as many parts as the input, and the input is not changed. A call without a name stays a
// call. If all parts are acceptable, the result is the same slice.
func TestAcceptablePartsAreAccepted(t *testing.T) {
	bad := imageOf("hi", "image/png")
	call := toolCall("c")
	call.Name = ""
	result := perdure.Part{Type: perdure.PartToolResult, ToolCallID: "c", Parts: []perdure.Part{perdure.Text("a"), bad}}
	for role, parts := range map[perdure.Role][]perdure.Part{
		perdure.RoleSystem:     {perdure.Text("a"), bad},
		perdure.RoleUser:       {perdure.Text("a"), bad, perdure.Compaction("s"), perdure.Compaction(" "), {Type: "video"}, toolCall("c"), imageOf(imageBytes["image/png"], "image/png")},
		perdure.RoleAssistant:  {{Type: perdure.PartThinking, Thinking: "hm"}, call, bad, result},
		perdure.RoleToolResult: {result},
	} {
		before := append([]perdure.Part{}, parts...)
		got := perdure.AcceptableParts(role, parts)
		if err := perdure.CheckParts(role, "parts", got); err != nil || len(got) != len(parts) {
			t.Errorf("%s: %v, %+v", role, err, got)
		}
		for i := range parts {
			if parts[i].Type != before[i].Type || parts[i].Name != before[i].Name {
				t.Errorf("%s: the input was changed", role)
			}
		}
		if again := perdure.AcceptableParts(role, got); len(got) > 0 && &again[0] != &got[0] {
			t.Errorf("%s: acceptable parts are copied", role)
		}
	}
	if result.Parts[1].Type != perdure.PartImage {
		t.Error("the inner parts of the input were changed")
	}
	got := perdure.AcceptableParts(perdure.RoleAssistant, []perdure.Part{call})[0]
	if got.Type != perdure.PartToolCall || got.Name != perdure.UnnamedTool || got.ID != "c" {
		t.Errorf("a call became %+v", got)
	}
}
