package llmtest

import "strconv"

func anthropicRules(c *checker, body obj) {
	messages := list(body["messages"])
	c.at = "messages"
	c.want(len(messages) > 0, "there are none")
	most, _ := body["max_tokens"].(float64)
	c.want(str(body["model"]) != "" && most >= 1, "model %v, max_tokens %v", body["model"], body["max_tokens"])
	c.tools(names(body["tools"], "name"), anthropicName)
	for _, block := range list(body["system"]) {
		c.at = "system"
		c.text(block["text"])
	}
	var calls []string
	for i, m := range messages {
		c.at = "message " + strconv.Itoa(i)
		role := []string{"user", "assistant"}[i%2]
		c.want(m["role"] == role, "role is %v where %s has to stand", m["role"], role)
		blocks := list(m["content"])
		c.want(len(blocks) > 0, "it is empty")
		if m["role"] == "assistant" {
			calls = c.anthropicAnswer(blocks)
			continue
		}
		c.anthropicUser(blocks, calls)
		calls = nil
	}
	c.at = "the end"
	c.want(len(messages)%2 == 1, "the user does not speak last")
	if thinking, _ := body["thinking"].(obj); thinking["type"] == "enabled" {
		c.thinksInRounds(messages)
	}
}

// thinksInRounds checks that each message with tool calls begins with reasoning. The API requires
// this reasoning from a model with a reasoning budget.
func (c *checker) thinksInRounds(messages []obj) {
	for i := 1; i < len(messages); i++ {
		answer, blocks := list(messages[i-1]["content"]), list(messages[i]["content"])
		if len(blocks) > 0 && blocks[0]["type"] == "tool_result" && len(answer) > 0 {
			first := answer[0]["type"]
			c.want(first == "thinking" || first == "redacted_thinking", "a tool round begins with %v", first)
		}
	}
}

func (c *checker) anthropicAnswer(blocks []obj) (calls []string) {
	for i, b := range blocks {
		switch b["type"] {
		case "text":
			c.text(b["text"])
		case "thinking":
			c.want(str(b["signature"]) != "", "reasoning without a signature")
			c.want(i < len(blocks)-1, "reasoning at the end")
		case "redacted_thinking":
			c.want(str(b["data"]) != "", "redacted reasoning without data")
			c.want(i < len(blocks)-1, "reasoning at the end")
		case "tool_use":
			c.call(str(b["id"]), 0)
			c.name(b["name"], anthropicName)
			c.want(isObject(b["input"]), "call %v of %v with %v", b["id"], b["name"], b["input"])
			calls = append(calls, str(b["id"]))
		default:
			c.fault("the model has a block of type %v", b["type"])
		}
	}
	return calls
}

func (c *checker) anthropicUser(blocks []obj, calls []string) {
	var results []string
	others := 0
	for _, b := range blocks {
		if b["type"] != "tool_result" {
			others++
			c.anthropicShown(b)
			continue
		}
		c.want(others == 0, "a result comes after other blocks")
		results = append(results, str(b["tool_use_id"]))
		inner := list(b["content"])
		c.want(b["is_error"] != true || len(inner) > 0, "an error says nothing")
		for _, i := range inner {
			c.anthropicShown(i)
		}
	}
	c.answered(calls, results)
}

func (c *checker) anthropicShown(b obj) {
	switch b["type"] {
	case "text":
		c.text(b["text"])
	case "image":
		source, _ := b["source"].(obj)
		if source["type"] == "url" {
			c.link(source["url"])
			return
		}
		c.want(source["type"] == "base64", "an image is of type %v", source["type"])
		c.image(str(source["media_type"]), str(source["data"]), 10<<20)
	case "document":
		source, _ := b["source"].(obj)
		switch source["type"] {
		case "url":
			c.link(source["url"])
		case "base64":
			c.pdf(str(source["media_type"]), str(source["data"]))
		case "text":
			c.want(source["media_type"] == "text/plain", "a text is of type %v", source["media_type"])
			c.text(source["data"])
		default:
			c.fault("a document is of type %v", source["type"])
		}
	default:
		c.fault("the user has a block of type %v", b["type"])
	}
}
