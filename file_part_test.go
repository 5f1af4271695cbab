package perdure

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestFilesAndURLsAreChecked checks which files and URLs are accepted in a user's message. The
// error for an invalid file or URL names the member and does not contain a password.
func TestFilesAndURLsAreChecked(t *testing.T) {
	long := strings.Repeat("a", MaxURLBytes)
	for value, member := range map[string]string{
		`{"type":"image","url":"https://example.com/a.png"}`:                                 "",
		`{"type":"image","url":"http://example.com:8080/a?b=c&d=%20#e","detail":"original"}`: "",
		`{"type":"file","url":"https://example.com/a.pdf","filename":"a.pdf"}`:               "",
		`{"type":"file","fileId":"file-7"}`:                                                  "",
		`{"type":"file","data":"JVBERi0xLjQK","mimeType":"application/pdf"}`:                 "",
		`{"type":"file","data":"aGVsbG8=","mimeType":"text/plain","filename":"a.txt"}`:       "",
		`{"type":"file","data":"/w==","mimeType":"application/octet-stream"}`:                "",
		`{"type":"image","url":"ftp://example.com/a.png"}`:                                   "url",
		`{"type":"image","url":"file:///etc/passwd"}`:                                        "url",
		`{"type":"image","url":"//example.com/a.png"}`:                                       "url",
		`{"type":"image","url":"https:///a.png"}`:                                            "url",
		`{"type":"image","url":"https://example.com/a b"}`:                                   "url",
		`{"type":"image","url":"https://example.com/ä"}`:                                     "url",
		`{"type":"image","url":"https://user@example.com/"}`:                                 "url",
		`{"type":"image","url":"https://user:hunter2@example.com/"}`:                         "url",
		`{"type":"image","url":"https://example.com/` + long + `"}`:                          "url",
		`{"type":"image","url":"https://example.com/","data":"aGk="}`:                        "url",
		`{"type":"image","url":"https://example.com/","mimeType":"image/png"}`:               "mimeType",
		`{"type":"image","url":"https://example.com/","detail":"blurred"}`:                   "detail",
		`{"type":"image","url":"https://example.com/","fileId":"f"}`:                         "fileId",
		`{"type":"image","url":"https://example.com/","filename":"f"}`:                       "filename",
		`{"type":"image"}`: "data",
		`{"type":"file"}`:  "data",
		`{"type":"file","fileId":"f","url":"https://example.com/"}`:                  "data",
		`{"type":"file","fileId":"f","mimeType":"application/pdf"}`:                  "mimeType",
		`{"type":"file","fileId":"` + strings.Repeat("f", 256) + `"}`:                "fileId",
		`{"type":"file","fileId":"f","filename":"a\nb"}`:                             "filename",
		`{"type":"file","fileId":"f","filename":"` + strings.Repeat("f", 256) + `"}`: "filename",
		`{"type":"file","url":"https://user:hunter2@example.com/a.pdf"}`:             "url",
		`{"type":"file","data":"aGk="}`:                                              "mimeType",
		`{"type":"file","data":"aGk=","mimeType":"pdf"}`:                             "mimeType",
		`{"type":"file","data":"aGk=","mimeType":"text/plain; charset=x"}`:           "mimeType",
		`{"type":"file","data":"aGk=","mimeType":"application/pdf"}`:                 "data",
		`{"type":"file","data":"aGk","mimeType":"text/plain"}`:                       "data",
		`{"type":"file","data":"aG\nk=","mimeType":"text/plain"}`:                    "data",
		`{"type":"file","data":"/w==","mimeType":"text/plain"}`:                      "data",
		`{"type":"file","data":"aGk=","mimeType":"text/plain","detail":"low"}`:       "detail",
		`{"type":"text","text":"x","url":"https://example.com/"}`:                    "url",
	} {
		_, err := ParseUserMessage("v", json.RawMessage(`{"parts":[{"type":"text","text":"x"},`+value+`]}`))
		var coded *Error
		switch {
		case member == "" && err != nil:
			t.Errorf("%.200s: %v", value, err)
		case member != "" && (!errors.As(err, &coded) || len(coded.Fields) != 1 || coded.Fields[0].Location != "v.parts[1]."+member):
			t.Errorf("%.200s is refused by %v, want one that names %s", value, err, member)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("the password is repeated: %v", err)
		}
	}
}

func TestFilesAreBounded(t *testing.T) {
	for size, ok := range map[int]bool{MaxFileBytes: true, MaxFileBytes + 1: false, MaxFileBytes + 3: false} {
		p := Part{Type: PartFile, MimeType: "application/zip", Data: base64.StdEncoding.EncodeToString(make([]byte, size))}
		if err := CheckParts(RoleUser, "parts", []Part{p}); (err == nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestFilesThatCannotBeShownBecomeTexts checks that AcceptableParts and AcceptableResult replace an
// invalid file or URL by a text, which contains no password. An invalid part may have been stored by
// an earlier version.
func TestFilesThatCannotBeShownBecomeTexts(t *testing.T) {
	bad := []Part{{Type: PartFile}, {Type: PartImage, URL: "file:///etc/passwd"}, {Type: PartFile, URL: "https://u:p@example.com/"}}
	for _, p := range append(AcceptableParts(RoleUser, bad), AcceptableResult(bad)...) {
		if p.Type != PartText || !strings.Contains(p.Text, "stood here") || strings.Contains(p.Text, "u:p@") {
			t.Errorf("got %+v", p)
		}
	}
}
