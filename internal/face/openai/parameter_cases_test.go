package openai_test

import "strings"

// The models whose providers receive the parameters: for each provider, one model for each form in
// which its models take the parameters.
const (
	claude     = "anthropic/claude-sonnet-4-5"
	claude40   = "anthropic/claude-sonnet-4-0"
	claudeNew  = "anthropic/claude-opus-4-7" // does not accept a temperature; takes a level of reasoning effort
	chat       = "openai/gpt-4o"
	chatGPT5   = "openai/gpt-5"
	direct     = "openai-responses/gpt-4o"
	directGPT5 = "openai-responses/gpt-5"
	directNew  = "openai-responses/gpt-5.2"
	google     = "gemini/gemini-2.5-flash"
	googlePro  = "gemini/gemini-2.5-pro"
	googleNew  = "gemini/gemini-3-pro-preview"
)

// sent contains the expected values in the body of a provider's request, by their paths.
type sent = map[string]any

// onePixel is a PNG image.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

const oneTool = `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"function","name":"g","parameters":{"type":"object"}}]`

// parameterCases has a test for each row of the table of parameters in the documentation.
var parameterCases = map[string]func(w *wired){
	"model": func(w *wired) {
		w.sends(chat, `"input":"a"`, sent{"model": "gpt-4o"})
		o := w.echoes(`"input":"a"`, sent{"model": "test/m"})
		w.here(len(w.model.asked()) == 1, "another model was called: %s", o.raw)
		w.refuses("model", `"model":7`)
	},
	"input": func(w *wired) {
		o := w.sends(chat, `"input":[{"role":"user","content":"hello"}]`, sent{"messages.0.content": "hello"})
		w.here(o.text() == "ok", "answered %s", o.raw)
		const media = `{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"},{"type":"input_file","file_data":"data:application/pdf;base64,JVBERi0xLjQK","filename":"a.pdf"},{"type":"input_file","file_id":"file-7"}`
		for model, want := range map[string]sent{
			claude: {"messages.0.content.0.source.url": "https://example.com/a.png", "messages.0.content.1.title": "a.pdf", "messages.0.content.2.type": "text"},
			chat:   {"messages.0.content.0.image_url.detail": "low", "messages.0.content.1.file.filename": "a.pdf", "messages.0.content.2.file.file_id": "file-7"},
			direct: {"input.0.content.0.detail": "low", "input.0.content.1.filename": "a.pdf", "input.0.content.2.file_id": "file-7"},
			google: {"contents.0.parts.0.fileData.fileUri": "https://example.com/a.png", "contents.0.parts.1.inlineData.mimeType": "application/pdf"},
		} {
			o := w.sends(model, `"input":[{"role":"user","content":[`+media+`]}]`, want)
			shown := string(w.call("GET", "/v1/responses/"+o.ID+"/input_items", "").body)
			w.here(strings.Contains(shown, media), "the input is shown as %s", shown)
		}
		w.refuses("input", `"input":7`)
	},
	"instructions": func(w *wired) {
		w.passes(`"instructions":"Be brief."`, map[string]sent{
			claude: {"system.0.text": "Be brief."}, chat: {"messages.0.content": "Be brief."},
			direct: {"instructions": "Be brief."}, google: {"systemInstruction.parts.0.text": "Be brief."},
		})
		w.echoes(`"input":"a","instructions":"Be brief."`, sent{"instructions": "Be brief."})
	},
	"tools": func(w *wired) {
		w.passes(oneTool, map[string]sent{
			claude: {"tools.0.name": "f"}, chat: {"tools.0.function.name": "f"},
			direct: {"tools.0.name": "f"}, google: {"tools.0.functionDeclarations.0.name": "f"},
		})
		w.echoes(`"input":"a",`+oneTool, sent{"tools.0.name": "f"})
		w.refuses("tools[0].type", `"tools":[{"type":"web_search"}]`)
	},
	"tool_choice":         toolChoiceCase,
	"parallel_tool_calls": parallelCase,
	"temperature": func(w *wired) {
		w.passes(`"temperature":0.5`, map[string]sent{
			claude: {"temperature": 0.5}, claudeNew: {"temperature": nil}, chat: {"temperature": 0.5}, chatGPT5: {"temperature": nil},
			direct: {"temperature": 0.5}, directGPT5: {"temperature": nil}, google: {"generationConfig.temperature": 0.5},
		})
		w.echoes(`"input":"a","temperature":0.5`, sent{"temperature": 0.5})
		w.refuses("temperature", `"temperature":2.1`)
	},
	"top_p": func(w *wired) {
		w.passes(`"top_p":0.5`, map[string]sent{
			claude: {"top_p": 0.5}, claudeNew: {"top_p": nil}, chat: {"top_p": 0.5}, chatGPT5: {"top_p": nil},
			direct: {"top_p": 0.5}, directGPT5: {"top_p": nil}, google: {"generationConfig.topP": 0.5},
		})
		w.passes(`"top_p":0.5,"temperature":0.25`, map[string]sent{
			claude: {"top_p": nil, "temperature": 0.25}, claude40: {"top_p": 0.5, "temperature": 0.25}, chat: {"top_p": 0.5, "temperature": 0.25},
		})
		w.passes(`"top_p":0.5,"reasoning":{"effort":"low"}`, map[string]sent{claude: {"top_p": nil}})
		w.passes(`"top_p":0.96,"reasoning":{"effort":"low"}`, map[string]sent{claude: {"top_p": 0.96}})
		w.echoes(`"input":"a","top_p":0.5`, sent{"top_p": 0.5})
		for _, bad := range []string{"-0.1", "1.1", `"1"`} {
			w.refuses("top_p", `"top_p":`+bad)
		}
	},
	"max_output_tokens": func(w *wired) {
		w.passes(`"max_output_tokens":100`, map[string]sent{
			claude: {"max_tokens": 100}, chat: {"max_tokens": 100}, chatGPT5: {"max_completion_tokens": 100},
			direct: {"max_output_tokens": 100}, google: {"generationConfig.maxOutputTokens": 100},
		})
		w.echoes(`"input":"a","max_output_tokens":100`, sent{"max_output_tokens": 100})
		w.refuses("max_output_tokens", `"max_output_tokens":0`)
	},
	"max_tool_calls": func(w *wired) {
		w.asAgent("find")
		w.model.answers = []answer{calls("", "find", `{"pattern":"*"}`, "find", `{"pattern":"*"}`, "find", `{"pattern":"*"}`)}
		o := w.ask(`"input":"a","max_tool_calls":2`).object()
		w.here(len(o.Output) == 4 && o.Output[1].Status == "completed" && o.Output[2].Status == "failed", "calls: %s", o.raw)
		w.echoes(`"input":"a","max_tool_calls":2`, sent{"max_tool_calls": 2})
		for _, bad := range []string{"0", "-1", "1.5", `"2"`} {
			w.refuses("max_tool_calls", `"max_tool_calls":`+bad)
		}
	},
	"reasoning.effort":  effortCase,
	"reasoning.summary": summaryCase,
	"text.format": func(w *wired) {
		const format = `"text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"object"}}}`
		w.passes(format, map[string]sent{
			claude: {"output_config.format.schema.type": "object"}, chat: {"response_format.json_schema.schema.type": "object"},
			direct: {"text.format.schema.type": "object"}, google: {"generationConfig.responseJsonSchema.type": "object"},
		})
		w.echoes(`"input":"a",`+format, sent{
			"text.format.type": "json_schema", "text.format.name": "n", "text.format.strict": true, "text.format.schema.type": "object",
		})
		w.refuses("text.format.schema", `"text":{"format":{"type":"json_schema","name":"n"}}`)
	},
	"text.verbosity": func(w *wired) {
		w.passes(`"text":{"verbosity":"low"}`, map[string]sent{
			chatGPT5: {"verbosity": "low"}, directGPT5: {"text.verbosity": "low"}, chat: {"verbosity": nil}, direct: {"text": nil}, claude: {}, google: {},
		})
		w.echoes(`"input":"a","text":{"verbosity":"low"}`, sent{"text.verbosity": "low"})
		w.refuses("text.verbosity", `"text":{"verbosity":"loud"}`)
	},
	"user": func(w *wired) {
		w.passes(`"user":"u1"`, map[string]sent{
			claude: {"metadata.user_id": "u1"}, chat: {"user": "u1"}, direct: {"user": "u1"}, google: {},
		})
		w.echoes(`"input":"a","user":"u1"`, sent{"user": "u1"})
		w.takes(`"user":"` + strings.Repeat("ü", 256) + `"`)
		w.refuses("user", `"user":"`+strings.Repeat("u", 257)+`"`)
	},
	"safety_identifier": func(w *wired) {
		w.passes(`"safety_identifier":"s1"`, map[string]sent{
			claude: {"metadata.user_id": "s1"}, chat: {"safety_identifier": "s1"}, direct: {"safety_identifier": "s1"}, google: {},
		})
		w.passes(`"safety_identifier":"s1","user":"u1"`, map[string]sent{claude: {"metadata.user_id": "u1"}})
		w.echoes(`"input":"a","safety_identifier":"s1"`, sent{"safety_identifier": "s1"})
		w.refuses("safety_identifier", `"safety_identifier":"`+strings.Repeat("u", 65)+`"`)
	},
	"prompt_cache_key": func(w *wired) {
		w.passes(`"prompt_cache_key":"k1"`, map[string]sent{
			chat: {"prompt_cache_key": "k1"}, direct: {"prompt_cache_key": "k1"}, claude: {}, google: {},
		})
		w.echoes(`"input":"a","prompt_cache_key":"k1"`, sent{"prompt_cache_key": "k1"})
		w.refuses("prompt_cache_key", `"prompt_cache_key":"`+strings.Repeat("u", 65)+`"`)
	},
	"metadata": func(w *wired) {
		long := strings.Repeat("я", 512)
		w.echoes(`"input":"a","metadata":{"k":"`+long+`"}`, sent{"metadata.k": long})
		w.refuses("metadata", `"metadata":{"k":"`+long+`я"}`)
		o := w.echoes(`"input":"a","metadata":{"k":"v"}`, sent{"metadata.k": "v"})
		w.here(o.Metadata["k"] == "v", "shown as %s", o.raw)
		w.refuses("metadata", `"metadata":{"k":1}`)
	},
	"store": func(w *wired) {
		o := w.echoes(`"input":"a","store":false`, sent{"store": false})
		w.here(w.call("GET", "/v1/responses/"+o.ID, "").status == 404, "it can be retrieved")
	},
	"background": func(w *wired) {
		o := w.echoes(`"input":"a","background":true`, sent{"background": true})
		all := w.all("GET", "/v1/responses/"+o.ID+"?stream=true", "")
		w.here(all[1].Type == "response.queued", "it was never queued")
		w.refuses("background", `"background":true,"store":false`)
	},
	"stream": func(w *wired) {
		all := w.all("POST", "/v1/responses", with(`"stream":true`))
		w.here(all[0].Type == "response.created" && all[len(all)-1].Type == "response.completed", "streamed %v", all)
	},
	"previous_response_id": func(w *wired) {
		first := w.create(`"input":"a"`).object()
		o := w.echoes(`"input":"b","previous_response_id":"`+first.ID+`"`, sent{"previous_response_id": first.ID})
		w.here(o.Previous == first.ID, "shown as %s", o.raw)
		w.refuses("previous_response_id", `"previous_response_id":"resp_none"`)
	},
	"include": includeCase,
	"truncation": func(w *wired) {
		w.echoes(`"input":"a","truncation":"auto"`, sent{"truncation": "auto"})
		w.echoes(`"input":"a","truncation":"disabled"`, sent{"truncation": "disabled"})
		o := w.echoes(`"input":"a"`, sent{"truncation": "auto"})
		w.here(at(w.shown(o), "truncation") == "auto", "shown as %s", o.raw)
		w.refuses("truncation", `"truncation":"some"`)
	},
	"conversation": func(w *wired) {
		id, _ := at(value(w.t, w.call("POST", "/v1/conversations", `{}`).body), "id").(string)
		w.echoes(`"input":"a","conversation":"`+id+`"`, sent{"conversation.id": id})
		o := w.echoes(`"input":"b","conversation":{"id":"`+id+`"}`, sent{"conversation.id": id})
		asked := w.model.asked()
		w.here(len(asked) == 2 && len(asked[1].Messages) == 3, "the model does not know of the first response: %s", o.raw)
		w.refuses("conversation", `"conversation":"`+id+`","previous_response_id":"resp_1"`)
	},
	"prompt":                 func(w *wired) { w.refuses("prompt", `"prompt":{"id":"p"}`) },
	"prompt_cache_retention": func(w *wired) { w.refuses("prompt_cache_retention", `"prompt_cache_retention":"24h"`) },
	"context_management": func(w *wired) {
		w.refuses("context_management", `"context_management":"compaction"`)
		w.refuses("context_management", `"context_management":[{"type":"compaction"},{"type":"compaction"}]`)
		w.refuses("context_management[0]", `"context_management":["compaction"]`)
		w.refuses("context_management[0].type", `"context_management":[{"compact_threshold":1000}]`)
		w.refuses("context_management[0].type", `"context_management":[{"type":"clear"}]`)
		w.refuses("context_management[0].compact_threshold", `"context_management":[{"type":"compaction","compact_threshold":999}]`)
		w.refuses("context_management[0].compact_threshold", `"context_management":[{"type":"compaction","compact_threshold":1e30}]`)
		w.refuses("context_management[0].more", `"context_management":[{"type":"compaction","more":1}]`)
		for _, accepted := range []string{`[]`, `null`, `[{"type":"compaction"}]`, `[{"type":"compaction","compact_threshold":null}]`, `[{"type":"compaction","compact_threshold":1000}]`} {
			o := w.create(`"input":"a","context_management":` + accepted).object()
			w.here(o.Status == "completed" && len(o.Output) == 1, "%s: got %s", accepted, o.raw)
		}
	},
	"service_tier":      neutralCase("service_tier", `"flex"`, `"auto"`, `"default"`),
	"stream_options":    neutralCase("stream_options", `{"include_obfuscation":true}`, `{}`, `{"include_obfuscation":false}`),
	"top_logprobs":      neutralCase("top_logprobs", `1`, `0`),
	"presence_penalty":  neutralCase("presence_penalty", `0.5`, `0`, `0.0`),
	"frequency_penalty": neutralCase("frequency_penalty", `0.5`, `0`),
}

// neutralCase returns the test of a parameter that has no effect. The values in the parameter
// `taken` are accepted, and the value `refused` is refused.
func neutralCase(name, refused string, taken ...string) func(w *wired) {
	return func(w *wired) {
		w.refuses(name, `"`+name+`":`+refused)
		for _, value := range append(taken, "null") {
			w.takes(`"` + name + `":` + value)
		}
	}
}

func toolChoiceCase(w *wired) {
	w.passes(oneTool+`,"tool_choice":"required"`, map[string]sent{
		claude: {"tool_choice.type": "any"}, chat: {"tool_choice": "required"},
		direct: {"tool_choice": "required"}, google: {"toolConfig.functionCallingConfig.mode": "ANY"},
	})
	w.passes(oneTool+`,"tool_choice":{"type":"function","name":"g"}`, map[string]sent{
		claude: {"tool_choice.name": "g"}, chat: {"tool_choice.function.name": "g"},
		direct: {"tool_choice.name": "g"}, google: {"toolConfig.functionCallingConfig.allowedFunctionNames.0": "g"},
	})
	const allowed = oneTool + `,"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]}`
	w.passes(allowed, map[string]sent{
		claude: {"tools.0.name": "g", "tools.1": nil, "tool_choice.type": "any"},
		chat:   {"tools.0.function.name": "g", "tools.1": nil, "tool_choice": "required"},
		direct: {"tools.0.name": "g", "tools.1": nil, "tool_choice": "required"},
		google: {"tools.0.functionDeclarations.0.name": "g", "tools.0.functionDeclarations.1": nil, "toolConfig.functionCallingConfig.mode": "ANY"},
	})
	w.echoes(`"input":"a",`+allowed, sent{"tool_choice.type": "allowed_tools", "tool_choice.mode": "required", "tool_choice.tools.0.name": "g", "tools.1.name": "g"})
	w.refuses("tool_choice", `"tool_choice":"required"`)
	w.refuses("tool_choice", `"tool_choice":"sometimes"`)
	w.refuses("tool_choice", oneTool+`,"tool_choice":{"type":"function","name":"h"}`)
	w.refuses("tool_choice", oneTool+`,"tool_choice":{"type":"allowed_tools","tools":[{"type":"function","name":"h"}]}`)
	w.refuses("tool_choice.tools", oneTool+`,"tool_choice":{"type":"allowed_tools","tools":[]}`)
	w.refuses("tool_choice.tools", oneTool+`,"tool_choice":{"type":"allowed_tools","tools":[{"type":"mcp","server_label":"other"}]}`)
	w.refuses("tool_choice.mode", oneTool+`,"tool_choice":{"type":"allowed_tools","mode":"none","tools":[{"type":"function","name":"g"}]}`)
}

func parallelCase(w *wired) {
	w.passes(oneTool+`,"parallel_tool_calls":false`, map[string]sent{
		claude: {"tool_choice.disable_parallel_tool_use": true}, chat: {"parallel_tool_calls": false}, direct: {"parallel_tool_calls": false},
	})
	w.echoes(`"input":"a","parallel_tool_calls":false`, sent{"parallel_tool_calls": false})
	r := w.call("POST", "/v1/responses", `{"model":"`+google+`","input":"a","parallel_tool_calls":false,`+oneTool+`}`).object()
	if r.Status != "failed" || !strings.Contains(r.Error.Message, "parallel_tool_calls") {
		w.t.Errorf("Gemini: %s", r.raw)
	}
	w.refuses("parallel_tool_calls", `"parallel_tool_calls":"no"`)
}

func effortCase(w *wired) {
	for effort, want := range map[string]map[string]sent{
		"high": {
			claude: {"thinking.budget_tokens": 16000}, claudeNew: {"output_config.effort": "high"}, chatGPT5: {"reasoning_effort": "high"},
			directGPT5: {"reasoning.effort": "high"}, google: {"generationConfig.thinkingConfig.thinkingBudget": 20480}, googleNew: {"generationConfig.thinkingConfig.thinkingLevel": "HIGH"},
		},
		"xhigh": {
			claude: {"thinking.budget_tokens": 16000}, claudeNew: {"output_config.effort": "max"}, chatGPT5: {"reasoning_effort": "high"}, chat: {"reasoning_effort": nil},
			directGPT5: {"reasoning.effort": "high"}, directNew: {"reasoning.effort": "xhigh"}, "openai/gpt-5.1-codex-max": {"reasoning_effort": "xhigh"},
			google: {"generationConfig.thinkingConfig.thinkingBudget": 24576}, googlePro: {"generationConfig.thinkingConfig.thinkingBudget": 32768},
			googleNew: {"generationConfig.thinkingConfig.thinkingLevel": "HIGH"},
		},
		"minimal": {claudeNew: {"output_config.effort": "low"}, directGPT5: {"reasoning.effort": "low"}},
		"none":    {claude: {"thinking": nil}, directGPT5: {"reasoning.effort": "minimal"}, directNew: {"reasoning.effort": "none"}},
	} {
		w.passes(`"reasoning":{"effort":"`+effort+`"}`, want)
	}
	w.passes(`"reasoning":{"effort":"xhigh"},"max_output_tokens":100000`, map[string]sent{claude: {"thinking.budget_tokens": 32768}})
	w.echoes(`"input":"a","reasoning":{"effort":"xhigh"}`, sent{"reasoning.effort": "xhigh"})
	w.echoes(`"input":"a","reasoning":{"effort":"minimal"}`, sent{"reasoning.effort": "low"})
	w.refuses("reasoning.effort", `"reasoning":{"effort":"huge"}`)
}

func summaryCase(w *wired) {
	w.passes(`"reasoning":{"summary":"detailed"}`, map[string]sent{
		directGPT5: {"reasoning.summary": "detailed", "reasoning.effort": nil}, direct: {"reasoning": nil}, chatGPT5: {"reasoning": nil},
		google: {"generationConfig.thinkingConfig.includeThoughts": true}, googleNew: {"generationConfig.thinkingConfig.includeThoughts": true}, claude: {"thinking": nil},
	})
	w.passes(`"reasoning":{"summary":"concise","effort":"low"}`, map[string]sent{directGPT5: {"reasoning.summary": "concise", "reasoning.effort": "low"}})
	w.echoes(`"input":"a","reasoning":{"summary":"concise"}`, sent{"reasoning.summary": "concise", "reasoning.effort": nil})
	w.refuses("reasoning.summary", `"reasoning":{"summary":"long"}`)
	w.refuses("reasoning.generate_summary", `"reasoning":{"generate_summary":"auto"}`)
}

func includeCase(w *wired) {
	for _, value := range []string{
		"message.input_image.image_url", "file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
		"code_interpreter_call.outputs", "computer_call_output.output.image_url",
	} {
		w.takes(`"include":["` + value + `"]`)
	}
	const image = `[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,` + onePixel + `"}]}]`
	o := w.create(`"include":["message.input_image.image_url"],"input":` + image).object()
	input := string(w.call("GET", "/v1/responses/"+o.ID+"/input_items", "").body)
	w.here(strings.Contains(input, onePixel), "the input is shown as %s", input)
	block := w.sends(claude, `"input":"a","include":["reasoning.encrypted_content"]`, nil)
	w.here(!strings.Contains(string(block.raw), "encrypted_content"), "nothing was signed, and is shown: %s", block.raw) // for other models see TestBlocksAreShownWhereTheyAreAskedFor
	w.takes(`"include":[]`)
	w.refuses("include", `"include":["message.output_text.logprobs"]`)
	w.refuses("include", `"include":["colour"]`)
	w.refuses("include", `"include":"reasoning.encrypted_content"`)
}
