package llmtest

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// The providers' rules for the names of tools, from their API references.
var (
	openAIName    = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	geminiName    = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)
)

// name checks the name of the tool in a tool call or a result.
func (c *checker) name(v any, rule *regexp.Regexp) {
	c.want(rule.MatchString(str(v)), "%q is no name of a tool", v)
}

// tools checks the names of the tools in a request. The names must be unique.
func (c *checker) tools(names []string, rule *regexp.Regexp) {
	c.at = "tools"
	seen := map[string]bool{}
	for _, name := range names {
		c.name(name, rule)
		c.want(!seen[name], "two tools have the name %q", name)
		seen[name] = true
	}
}

// names returns the value of a member of each object in the list.
func names(v any, member string) []string {
	var all []string
	for _, tool := range list(v) {
		all = append(all, str(tool[member]))
	}
	return all
}

// mostImage is the maximum size of an image in bytes, before base64.
const mostImage = 20 << 20

// image checks that the data of an image has the given MIME type, and at most `mostBase64` bytes.
func (c *checker) image(mime, data string, mostBase64 int) {
	raw, err := base64.StdEncoding.DecodeString(data)
	c.want(err == nil && !strings.ContainsAny(data, "\r\n"), "an image is not base64: %v", err)
	c.want(len(raw) > 0 && len(raw) <= mostImage, "an image has %d bytes", len(raw))
	c.want(mostBase64 == 0 || len(data) <= mostBase64, "an image has %d bytes of base64", len(data))
	taken := []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	found := http.DetectContentType(raw)
	c.want(slices.Contains(taken, mime) && mime == found, "an image is said to be %q and is %q", mime, found)
}

// link checks a URL from which the provider fetches content.
func (c *checker) link(v any) {
	u, err := url.Parse(str(v))
	c.want(err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil, "a URL is %q", v)
}

// pdf checks a PDF file that is sent as data.
func (c *checker) pdf(mime, data string) {
	raw, err := base64.StdEncoding.DecodeString(data)
	c.want(err == nil && mime == "application/pdf" && strings.HasPrefix(string(raw), "%PDF-"), "a file is said to be %q and is no PDF: %v", mime, err)
}

// imageURL checks an image with a URL or a data URL.
func (c *checker) imageURL(url string) {
	if strings.HasPrefix(url, "data:") {
		c.dataURL(url)
		return
	}
	c.link(url)
}

// dataURL checks an image with a data URL.
func (c *checker) dataURL(url string) {
	head, data, ok := strings.Cut(url, ";base64,")
	mime, isData := strings.CutPrefix(head, "data:")
	c.want(ok && isData, "an image is no data URL")
	c.image(mime, data, 0)
}

// speaks checks that there is a user message, and that the last message is not an assistant
// message.
func (c *checker) speaks(roles []string) {
	c.at = "roles"
	c.want(slices.Contains(roles, "user"), "the user says nothing: %v", roles)
	c.want(len(roles) == 0 || roles[len(roles)-1] != "assistant", "the assistant speaks last")
}
