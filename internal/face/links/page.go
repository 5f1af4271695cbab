package links

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"net/http"
	"strconv"
	"time"
)

const style = `:root{color-scheme:light dark;--line:#8886;--soft:#8882;--bad:light-dark(#b3261e,#ff9d94);--go:light-dark(#1a5fd0,#8ab4ff)}
*{box-sizing:border-box}
body{background:Canvas;color:CanvasText;font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:0 auto;padding:1.25rem 1rem 3rem;overflow-wrap:anywhere}
h1{font-size:1.35rem;line-height:1.25;margin:0 0 .5rem}
p{margin:.5rem 0}.prompt,pre{white-space:pre-wrap}.facts,.hint{font-size:.875rem;opacity:.8}
h2{font-size:.875rem;margin:.75rem 0 .25rem}
pre{font:13px/1.5 ui-monospace,monospace;background:var(--soft);border-radius:.5rem;padding:.6rem .75rem;margin:0;max-height:60vh;overflow:auto}
.problem{color:var(--bad);border:1px solid;border-radius:.5rem;padding:.5rem .75rem}
form{margin-top:1.25rem;border-top:1px solid var(--line)}
label,legend{display:block;font-weight:600;margin:1rem 0 .25rem;padding:0}
fieldset{border:0;margin:0;padding:0}
fieldset label{font-weight:400;display:flex;gap:.6rem;align-items:baseline;margin:0;padding:.5rem 0}
input:not([type=radio]),textarea,select{font:inherit;width:100%;padding:.5rem .6rem;border:1px solid var(--line);border-radius:.5rem;background:transparent;color:inherit}
option{background:Canvas;color:CanvasText}
.buttons{display:flex;flex-wrap:wrap;gap:.75rem;margin-top:1.25rem}
button{font:inherit;font-weight:600;flex:1 1 8rem;min-height:2.9rem;border-radius:.5rem;border:1px solid;background:transparent;color:var(--bad);cursor:pointer}
button.go{color:Canvas;background:var(--go);border-color:var(--go)}
:focus-visible{outline:3px solid var(--go);outline-offset:2px}
`

// policy is the Content-Security-Policy of the page of a question link. It forbids everything
// except the page's own style, which is allowed by its hash, and the form.
var policy = "default-src 'none'; style-src '" + styleHash() + "'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func styleHash() string {
	sum := sha256.Sum256([]byte(style))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

var pageTemplate = template.Must(template.New("link").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex"><title>{{.Title}} - Perdure</title><style>` + style + `</style></head><body><main>
<h1>{{.Title}}</h1>
{{if .Problem}}<p class="problem" role="alert">{{.Problem}}</p>{{end -}}
{{if .Message}}<p role="status">{{.Message}}</p>{{end -}}
{{if .Question}}{{if .Prompt}}<p class="prompt">{{.Prompt}}</p>{{end}}
<p class="facts">{{if .Run}}Run: {{.Run}}<br>{{end}}Asked {{.AskedAt}}.{{if .ExpiresAt}} Expires {{.ExpiresAt}}.{{end}}{{if .Needed}} {{.Needed}}{{end}}<br>You answer as {{.Voter}}.</p>
{{if .Unshown}}<p class="problem">{{.Unshown}}</p>{{end -}}
{{if .Details}}<section aria-label="What is asked about">{{range .Details}}{{if .Name}}<h2>{{.Name}}</h2>{{end}}<pre tabindex="0">
{{.Text}}</pre>{{end}}</section>{{end}}
<form method="post" autocomplete="off">
<input type="hidden" name="detailsSha256" value="{{.DetailsSHA256}}"><input type="hidden" name="answerId" value="{{.AnswerID}}">
{{if .Choices}}<fieldset><legend>Answer</legend>{{range .Choices}}<label><input type="radio" name="answer" value="{{.Value}}" required{{if .Chosen}} checked{{end}}><span>{{.Label}}{{if .Description}}<br><span class="hint">{{.Description}}</span>{{end}}</span></label>{{end}}</fieldset>{{end -}}
{{range .Fields}}<label for="{{.ID}}">{{.Label}}{{if not .Required}} (optional){{end}}</label>
{{if .Options}}{{$given := .Given}}<select id="{{.ID}}" name="{{.ID}}"{{if .Required}} required{{end}}><option value=""></option>{{range .Options}}<option{{if eq . $given}} selected{{end}}>{{.}}</option>{{end}}</select>
{{else if eq .Type "boolean"}}<select id="{{.ID}}" name="{{.ID}}"{{if .Required}} required{{end}}><option value=""></option><option value="true"{{if eq .Given "true"}} selected{{end}}>Yes</option><option value="false"{{if eq .Given "false"}} selected{{end}}>No</option></select>
{{else if .Long}}<textarea id="{{.ID}}" name="{{.ID}}" rows="4"{{if .Required}} required{{end}}>
{{.Given}}</textarea>
{{else}}<input id="{{.ID}}" name="{{.ID}}" value="{{.Given}}"{{if eq .Type "integer"}} inputmode="numeric"{{else if eq .Type "number"}} inputmode="decimal"{{end}}{{if .Required}} required{{end}}>
{{end}}{{if .Description}}<p class="hint">{{.Description}}</p>{{end}}{{end -}}
{{if .Whole}}{{if .TakesValue}}<label for="answer">Answer{{if not .WholeIsText}}, as JSON{{end}}</label><textarea id="answer" name="answer" rows="4" required>
{{.Given}}</textarea>{{end}}{{end}}
<label for="reason">Reason (optional)</label><textarea id="reason" name="reason" rows="2" maxlength="{{.MaxReason}}">
{{.Reason}}</textarea>
<div class="buttons">{{if .TakesValue}}<button class="go" name="verdict" value="answer">Answer</button>{{else if not .Unshown}}<button class="go" name="verdict" value="approve">Approve</button>{{end}}<button name="verdict" value="deny" formnovalidate>Deny</button></div>
</form>{{end}}</main></body></html>
`))

// render sends a page. Its headers forbid storing it in a cache, showing it in a frame, and sending
// its address to another site.
func (s *server) render(w http.ResponseWriter, status int, page view) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, page); err != nil {
		panic(err) // cannot fail: the template fits the view
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Robots-Tag", "noindex")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // fails only if the client has disconnected
}

// refuse sends a page that shows a message instead of a question. It sends the header Retry-After
// if the parameter `wait` is not 0.
func (s *server) refuse(w http.ResponseWriter, status int, wait time.Duration, title, message string) {
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(seconds(wait)))
	}
	s.render(w, status, view{Title: title, Message: message})
}

// ended responds to a token that is unknown or no longer valid. The page does not say which.
func (s *server) ended(w http.ResponseWriter) {
	s.refuse(w, http.StatusNotFound, 0, "This link does not work",
		"It is unknown or incomplete, has expired, was used or revoked, or the question has changed since. Ask for a new link, or answer in the web page.")
}
