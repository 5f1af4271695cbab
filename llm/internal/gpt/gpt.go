// Package gpt knows the families of OpenAI's models, as far as the APIs treat
// them differently.
package gpt

import (
	"net/url"
	"regexp"
	"strings"
)

// reasoningID matches models that reason: they take an effort, and no
// temperature. Gateways write a vendor before the id.
var reasoningID = regexp.MustCompile(`^(?:o\d|gpt-([5-9])(?:\.(\d+))?|gpt-oss)(-[a-z0-9.-]+)?$`)

// Reasoning tells whether a model reasons, and by which effort that is turned
// off or down: "" if it cannot be.
func Reasoning(model string) (reasons bool, off string) {
	m := reasoningID.FindStringSubmatch(strings.ToLower(model[strings.LastIndex(model, "/")+1:]))
	if m == nil || strings.Contains(m[3], "-chat") {
		return false, ""
	}
	special := strings.Contains(m[3], "-codex") || strings.Contains(m[3], "-pro")
	switch {
	case special || m[1] != "5":
		return true, ""
	case m[2] == "":
		return true, "minimal"
	}
	return true, "none"
}

// Host is the host of a base URL in lower case, "" if that is none.
func Host(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// Official tells whether a host is OpenAI's own.
func Official(host string) bool {
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com")
}
