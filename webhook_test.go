package perdure

import (
	"errors"
	"strings"
	"testing"
)

// fieldOf returns the field that an error names.
func fieldOf(err error) string {
	var coded *Error
	if !errors.As(err, &coded) || len(coded.Fields) != 1 {
		return ""
	}
	return coded.Fields[0].Location
}

func TestWebhookRequestsAreChecked(t *testing.T) {
	long := "https://example.com/" + strings.Repeat("x", MaxWebhookURL)
	for _, c := range []struct {
		url    string
		public bool // whether the URL is accepted outside of dev mode
		dev    bool
	}{
		{"https://example.com", true, true},
		{"https://example.com:8443/a?b=c", true, true},
		{"https://[2001:db8::1]/", true, true},
		{long[:MaxWebhookURL], true, true},
		{long, false, false},
		{"", false, false},
		{"example.com", false, false},
		{"/hook", false, false},
		{"https://", false, false},
		{"https:///hook", false, false},
		{"https://:443/hook", false, false},
		{"https:example.com", false, false},
		{"ftp://example.com", false, false},
		{"https://user@example.com", false, false},
		{"https://user:secret@example.com", false, false},
		{"https://example.com/#part", false, false},
		{"https://example.com/#", false, false},
		{"https://exa mple.com/", false, false},
		{"https://example.com/\x00", false, false},
		{"https://example.com/\xff", false, false},
		{"http://example.com", false, false},
		{"http://127.0.0.1:8080/hook", false, true},
		{"http://localhost/hook", false, true},
		{"http://[::1]:1/hook", false, true},
		{"http://10.0.0.1/hook", false, false},
		{"http://localhost.example.com/hook", false, false},
	} {
		for loopback, want := range map[bool]bool{false: c.public, true: c.dev} {
			err := WebhookRequest{URL: c.url}.Normal().Check(loopback)
			if (err == nil) != want || err != nil && (!IsCode(err, InvalidArgument) || fieldOf(err) != "url") {
				t.Errorf("%.60q, loopback %v: %v", c.url, loopback, err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error has the password: %v", err)
			}
		}
	}
	many := make([]string, MaxWebhookEvents+1)
	for i := range many {
		many[i] = "agent." + strings.Repeat("x", i)
	}
	for _, c := range []struct {
		events []string
		field  string
	}{
		{nil, ""},
		{[]string{"*"}, ""},
		{[]string{"agent.*", "question.*", "agent.failed", "agent.failed"}, ""},
		{[]string{"agent"}, "events"},
		{[]string{"agent*"}, "events"},
		{[]string{"agent.f*"}, "events"},
		{[]string{"token"}, "events"},
		{[]string{"entry.*"}, "events"},
		{[]string{""}, "events"},
		{[]string{"**"}, "events"},
		{[]string{".*"}, "events"},
		{[]string{"agent.checkpoint"}, "events"},
		{many, "events"},
	} {
		err := WebhookRequest{URL: "https://example.com", Events: c.events}.Normal().Check(false)
		if (err == nil) != (c.field == "") || fieldOf(err) != c.field {
			t.Errorf("%.80q: %v", c.events, err)
		}
	}
	for text, ok := range map[string]bool{"note": true, strings.Repeat("x", MaxWebhookDescription): true, strings.Repeat("x", MaxWebhookDescription+1): false, "a\xff": false} {
		if err := (WebhookRequest{URL: "https://example.com", Description: text}).Normal().Check(false); (err == nil) != ok {
			t.Errorf("a description of %d bytes: %v", len(text), err)
		}
	}
}

func TestWebhooksWantTypes(t *testing.T) {
	now := AtMilli(1)
	for _, c := range []struct {
		w    Webhook
		of   EventType
		want bool
	}{
		{Webhook{Enabled: true, Events: []string{"agent.*"}}, EventFailed, true},
		{Webhook{Enabled: true, Events: []string{"agent.*"}}, "agentx.failed", false},
		{Webhook{Enabled: true, Events: []string{"agent.failed"}}, EventFailed, true},
		{Webhook{Enabled: true, Events: []string{"agent.failed"}}, EventCompleted, false},
		{Webhook{Enabled: true, Events: []string{"*"}}, "question.asked", true},
		{Webhook{Enabled: true}, EventFailed, false},
		{Webhook{Events: []string{"*"}}, EventFailed, false},
		{Webhook{Enabled: true, Events: []string{"*"}, DeletedAt: &now}, EventFailed, false},
	} {
		if got := c.w.Wants(c.of); got != c.want {
			t.Errorf("%+v wants %s: %v", c.w, c.of, got)
		}
	}
}
