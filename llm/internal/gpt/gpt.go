// Package gpt contains the code that the two APIs of OpenAI share: the HTTP request, the lenient
// decoding of responses, and the families of models that the APIs treat differently.
package gpt

import (
	"net/url"
	"regexp"
	"strings"
)

// reasoningID matches the ids of models that reason. Such models accept a reasoning effort and no
// temperature. (Gateways put the name of a vendor before the id; the function match removes it.)
var reasoningID = regexp.MustCompile(`^(?:o\d|gpt-([5-9])(?:\.(\d+))?|gpt-oss)(-[a-z0-9.-]+)?$`)

// Reasoning reports whether a model reasons. The result `off` is the effort that turns reasoning
// off or to its minimum; "" if there is none.
func Reasoning(model string) (reasons bool, off string) {
	m := match(model)
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

// Effort returns the highest effort that a model accepts: xhigh, or high if the model does not have
// xhigh.
func Effort(model string) string {
	m := match(model)
	older := m == nil || m[1] == "" || m[1] == "5" && (m[2] == "" || m[2] == "1")
	if older && (m == nil || !strings.Contains(m[3], "-codex-max")) {
		return "high"
	}
	return "xhigh"
}

// Verbosity reports whether a model accepts a verbosity.
func Verbosity(model string) bool {
	m := match(model)
	return m != nil && m[1] != "" && !strings.Contains(m[3], "-chat") && !strings.Contains(m[3], "-codex")
}

// match returns the submatches of reasoningID in a model's id; nil if the id does not match.
func match(model string) []string {
	return reasoningID.FindStringSubmatch(strings.ToLower(model[strings.LastIndex(model, "/")+1:]))
}

// Host returns the host of a base URL in lower case; "" if the URL is invalid.
func Host(baseURL string) string {
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// Official reports whether a host belongs to OpenAI.
func Official(host string) bool {
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com")
}
