package perdure

import (
	"fmt"
	"regexp"
)

// toolNameRules are the providers' rules for the names of tools, from their API references. The rule
// for Gemini accepts what both its API reference and its SDK accept.
var toolNameRules = map[string]*regexp.Regexp{
	"anthropic":        regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`),
	"openai":           regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	"openai-responses": regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
	"gemini":           regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`),
}

// TakesToolName reports whether a provider accepts a tool with this name. A provider whose rule is
// unknown accepts any name that is not empty.
func TakesToolName(provider, name string) bool {
	rule := toolNameRules[provider]
	return name != "" && (rule == nil || rule.MatchString(name))
}

// CheckToolNames refuses a run's tools if two have the same name, or if the provider of one of the
// models does not accept a name. The error is invalid_argument, with the field name that `at`
// returns for the index of the tool.
func CheckToolNames(at func(i int) string, names []string, models []ModelConfig) error {
	first := map[string]int{}
	for i, name := range names {
		if j, known := first[name]; known {
			return FieldErrorf(at(i), "%s is named twice, first as %s; name each tool once", clip(name), at(j))
		}
		first[name] = i
		if name == UnnamedTool {
			return FieldErrorf(at(i), "%q is the name of calls that a model made without one; name the tool otherwise", name)
		}
		if err := checkToolName(at(i), name, models); err != nil {
			return err
		}
	}
	return nil
}

func checkToolName(at, name string, models []ModelConfig) error {
	if name == "" {
		return FieldErrorf(at, "is empty; give the name of a tool")
	}
	for _, m := range models {
		if !TakesToolName(m.Provider, name) {
			return FieldErrorf(at, "%s is no name that the provider %s takes: it must match %s", clip(name), m.Provider, toolNameRules[m.Provider])
		}
	}
	return nil
}

// ListPlaces returns a function that maps an index to the field name of the list element with that
// index, as in tools[1].
func ListPlaces(list string) func(i int) string {
	return func(i int) string { return fmt.Sprintf("%s[%d]", list, i) }
}
