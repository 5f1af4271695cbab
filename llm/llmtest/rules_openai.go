package llmtest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// compatibleRules are the rules of servers other than OpenAI's. They accept tool call ids of any
// form.
func compatibleRules(c *checker, body obj) {
	c.anyID = true
	openAIRules(c, body)
}

func openAIRules(c *checker, body obj) {
	messages := list(body["messages"])
	c.at = "messages"
	c.want(len(messages) > 0 && str(body["model"]) != "", "there are none, or no model")
	var functions, roles []string
	for _, tool := range list(body["tools"]) {
		f, _ := tool["function"].(obj)
		functions = append(functions, str(f["name"]))
	}
	c.tools(functions, openAIName)
	var calls, results []string
	for i, m := range messages {
		c.at = "message " + strconv.Itoa(i)
		roles = append(roles, str(m["role"]))
		if m["role"] == "tool" {
			c.text(m["content"])
			results = append(results, str(m["tool_call_id"]))
			continue
		}
		c.answered(calls, results)
		calls, results = nil, nil
		switch m["role"] {
		case "system":
			c.text(m["content"])
		case "user":
			c.openAIContent(m["content"], "text", "image_url")
		case "assistant":
			calls = c.openAICalls(m)
		default:
			c.fault("role is %v", m["role"])
		}
	}
	c.answered(calls, results)
	c.speaks(roles)
}

func (c *checker) openAICalls(m obj) (calls []string) {
	made := list(m["tool_calls"])
	if m["content"] != nil || len(made) == 0 {
		c.text(m["content"])
	}
	for _, call := range made {
		f, _ := call["function"].(obj)
		c.call(str(call["id"]), 40)
		c.arguments(f)
		calls = append(calls, str(call["id"]))
	}
	return calls
}

func (c *checker) arguments(call obj) {
	text := str(call["arguments"])
	c.name(call["name"], openAIName)
	c.want(strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text)), "a call of %v with %q", call["name"], text)
}

// openAIContent checks the content of a message. The content is a string or a list of parts. The
// parameters `text` and `image` are the API's names for the types of text parts and image parts.
func (c *checker) openAIContent(content any, text, image string) {
	parts, isList := content.([]any)
	if !isList {
		c.text(content)
		return
	}
	c.want(len(parts) > 0, "it is empty")
	for _, p := range list(content) {
		switch p["type"] {
		case text:
			c.text(p["text"])
		case image:
			url := str(p["image_url"])
			if inner, ok := p["image_url"].(obj); ok {
				url = str(inner["url"])
			}
			c.imageURL(url)
			if detail := detailOf(p, image); detail != nil {
				c.want(slices.Contains([]any{"auto", "low", "high", "original"}, detail), "an image has the detail %v", detail)
			}
		case "file":
			c.want(text == "text", "a part of type file")
			f, _ := p["file"].(obj)
			c.openAIFile(f, true)
		case "input_file":
			c.want(text == "input_text", "a part of type input_file")
			c.openAIFile(p, false)
		default:
			c.fault("a part of type %v", p["type"])
		}
	}
}

func detailOf(p obj, image string) any {
	if inner, ok := p[image].(obj); ok {
		return inner["detail"]
	}
	return p["detail"]
}

// openAIFile checks that a file has exactly one of data, URL and id. If `chat` is set, the API is
// Chat Completions, which accepts no URL, and only a PDF as data.
func (c *checker) openAIFile(f obj, chat bool) {
	given := 0
	for _, member := range []string{"file_id", "file_url", "file_data"} {
		if str(f[member]) != "" {
			given++
		}
	}
	c.want(given == 1, "a file is given in %d ways", given)
	if url, ok := f["file_url"]; ok {
		c.want(!chat, "a file has a URL")
		c.link(url)
	}
	if data, ok := f["file_data"]; ok {
		c.want(str(f["filename"]) != "", "a file has no name")
		head, data, _ := strings.Cut(str(data), ";base64,")
		mime, isData := strings.CutPrefix(head, "data:")
		c.want(isData, "a file is no data URL")
		if chat || mime == "application/pdf" {
			c.pdf(mime, data)
		}
	}
}

func responsesRules(c *checker, body obj) {
	input := list(body["input"])
	c.at = "input"
	c.want(len(input) > 0 && str(body["model"]) != "", "there is none, or no model")
	c.tools(names(body["tools"], "name"), openAIName)
	c.want(body["store"] == false, "it is stored")
	r := responsesRun{checker: c, reasonings: map[string]bool{}}
	var roles []string
	for i, item := range input {
		c.at = "item " + strconv.Itoa(i)
		r.item(item)
		roles = append(roles, str(item["role"]))
	}
	c.speaks(roles)
	c.at = "the end"
	r.settle()
	c.want(!r.waiting, "reasoning that nothing follows")
}

type responsesRun struct {
	*checker
	calls, results []string
	waiting        bool // reasoning is last; another item must follow it
	reasonings     map[string]bool
}

func (r *responsesRun) item(item obj) {
	kind, role := str(item["type"]), str(item["role"])
	if len(r.results) > 0 && kind != "function_call_output" {
		r.settle()
	}
	r.want(!r.waiting || kind == "reasoning" || kind == "function_call" || role == "assistant", "reasoning that a %s%s follows", kind, role)
	r.waiting = kind == "reasoning"
	switch {
	case kind == "reasoning":
		r.reasoning(item)
	case kind == "function_call":
		r.call(str(item["call_id"]), 64)
		r.arguments(item)
		r.calls = append(r.calls, str(item["call_id"]))
	case kind == "function_call_output":
		r.results = append(r.results, str(item["call_id"]))
		r.openAIContent(item["output"], "input_text", "input_image")
	case role == "system", role == "assistant":
		r.text(item["content"])
	case role == "user":
		r.settle()
		r.openAIContent(item["content"], "input_text", "input_image")
	default:
		r.fault("an item of type %q and role %q", kind, role)
	}
}

func (r *responsesRun) reasoning(item obj) {
	id := str(item["id"])
	r.want(id == "" || !r.reasonings[id], "two reasoning items have the id %q", id)
	r.reasonings[id] = true
	_, hasSummary := item["summary"].([]any)
	r.want(hasSummary && str(item["encrypted_content"]) != "", "reasoning is %v", item)
}

// settle is called at the end of a series of tool calls and their results. It checks that each call
// has exactly one result.
func (r *responsesRun) settle() {
	r.answered(r.calls, r.results)
	r.calls, r.results = nil, nil
}
