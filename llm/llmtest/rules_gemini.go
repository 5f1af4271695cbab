package llmtest

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

func geminiRules(c *checker, body obj) {
	contents := list(body["contents"])
	c.at = "contents"
	c.want(len(contents) > 0, "there are none")
	for _, tool := range list(body["tools"]) {
		c.tools(names(tool["functionDeclarations"], "name"), geminiName)
	}
	if system, given := body["systemInstruction"].(obj); given {
		c.at = "systemInstruction"
		c.want(len(list(system["parts"])) > 0, "it is empty")
	}
	before, calls := "", []string(nil)
	for i, turn := range contents {
		c.at = "content " + strconv.Itoa(i)
		parts := list(turn["parts"])
		c.want(len(parts) > 0, "it is empty")
		made, results := c.geminiParts(parts)
		switch turn["role"] {
		case "model":
			c.want(before == "user", "the model speaks after %q", before)
			c.want(len(results) == 0, "the model answers calls")
			c.want(len(calls) == 0, "calls %v have no results", calls)
		case "user":
			c.want(len(made) == 0, "the user makes calls")
			c.want(slices.Equal(calls, results), "results %v follow calls %v", results, calls)
			c.want(len(results) == 0 || len(results) == len(parts), "a turn of results holds other parts")
		default:
			c.fault("role is %v", turn["role"])
		}
		before, calls = str(turn["role"]), made
	}
	c.at = "the end"
	c.want(before == "user" && len(calls) == 0, "the user does not speak last")
}

// geminiData checks the data of an image, a PDF or a text.
func (c *checker) geminiData(mime, data string) {
	switch {
	case mime == "application/pdf":
		c.pdf(mime, data)
	case strings.HasPrefix(mime, "text/"):
		_, err := base64.StdEncoding.DecodeString(data)
		c.want(err == nil, "a text is not base64: %v", err)
	default:
		c.image(mime, data, 0)
	}
}

// geminiParts returns the ids and names of the function calls and results. It checks that each part
// contains exactly one kind of content.
func (c *checker) geminiParts(parts []obj) (calls, results []string) {
	for _, p := range parts {
		kinds := 0
		for _, kind := range []string{"text", "inlineData", "fileData", "functionCall", "functionResponse"} {
			if p[kind] != nil {
				kinds++
			}
		}
		c.want(kinds == 1, "a part is %v", p)
		signature, signed := p["thoughtSignature"].(string)
		_, err := base64.StdEncoding.DecodeString(signature)
		c.want(!signed || err == nil && signature != "", "a signature is %q", signature)
		if p["text"] != nil && !signed {
			c.text(p["text"])
		}
		if b, ok := p["inlineData"].(obj); ok {
			c.geminiData(str(b["mimeType"]), str(b["data"]))
		}
		if f, ok := p["fileData"].(obj); ok {
			c.link(f["fileUri"])
		}
		if f, ok := p["functionCall"].(obj); ok {
			c.call(str(f["id"]), 64)
			c.name(f["name"], geminiName)
			c.want(isObject(f["args"]), "a call is %v", f)
			c.want(signed || len(calls) > 0, "the first call has no signature")
			calls = append(calls, str(f["id"])+" "+str(f["name"]))
		}
		if f, ok := p["functionResponse"].(obj); ok {
			c.name(f["name"], geminiName)
			c.want(isObject(f["response"]), "a response is %v", f)
			results = append(results, str(f["id"])+" "+str(f["name"]))
		}
	}
	return calls, results
}
