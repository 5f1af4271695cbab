package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
	"github.com/spf13/cobra"
)

// spec holds the flags that describe an agent, for a run and for a stored definition.
type spec struct {
	cmd *cobra.Command
	// typed ignores variables. They are only defaults, and do not change a stored definition.
	typed       bool
	models      []string
	system      string
	tools       []string
	maxTurns    int
	maxTokens   int
	temperature float64
	thinking    string
	net         string
	metadata    []string
}

func (s *spec) flags(cmd *cobra.Command) {
	s.cmd = cmd
	f := cmd.Flags()
	f.StringSliceVarP(&s.models, "model", "m", nil, "provider/model; the first is called (default: by which key is set, ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY)")
	f.StringVar(&s.system, "system", "", "system prompt")
	f.StringSliceVar(&s.tools, "tools", nil, "names of the tools that the model may use, or none (default: all built-in ones)")
	f.IntVar(&s.maxTurns, "max-turns", 0, "most model calls of one answer (default 50)")
	f.IntVar(&s.maxTokens, "max-tokens", 0, "most tokens that a model call may write")
	f.Float64Var(&s.temperature, "temperature", 0, "sampling temperature, 0 to 2")
	f.StringVar(&s.thinking, "thinking", "", "how much to reason: off, low, medium, high or xhigh")
	f.StringArrayVar(&s.metadata, "metadata", nil, "KEY=VALUE to find the run by; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("thinking", cobra.FixedCompletions(perdure.Thinkings, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions(builtinNames(), cobra.ShellCompDirectiveNoFileComp))
}

func builtinNames() []string {
	var names []string
	for _, t := range tool.Builtin() {
		names = append(names, t.Name)
	}
	return names
}

func (s *spec) given(flag string) bool {
	f := s.cmd.Flags().Lookup(flag)
	return f != nil && f.Changed && !(s.typed && len(f.Annotations[fromEnv]) > 0)
}

// modelsGiven returns the models; nil if none were given.
func (s *spec) modelsGiven() ([]perdure.ModelConfig, error) {
	if !s.given("model") {
		return nil, nil
	}
	return parseModels(s.models)
}

// config returns the limits that were given.
func (s *spec) config() perdure.AgentConfig {
	c := perdure.AgentConfig{}
	if s.given("thinking") {
		c.Thinking = s.thinking
	}
	if s.given("net") {
		c.Net = s.net
	}
	if s.given("max-turns") {
		c.MaxTurns = &s.maxTurns
	}
	if s.given("max-tokens") {
		c.MaxTokens = &s.maxTokens
	}
	if s.given("temperature") {
		c.Temperature = &s.temperature
	}
	return c
}

// check refuses values that every server would refuse.
func (s *spec) check() error {
	switch {
	case s.given("max-turns") && s.maxTurns < 1:
		return usageError{"--max-turns must be at least 1", ""}
	case s.given("max-tokens") && s.maxTokens < 1:
		return usageError{"--max-tokens must be at least 1", ""}
	case s.given("temperature") && (s.temperature < 0 || s.temperature > 2):
		return usageError{"--temperature must be from 0 to 2", ""}
	case s.thinking != "" && !slices.Contains(perdure.Thinkings, s.thinking):
		return usageError{"--thinking " + s.thinking + " is unknown", "it is one of " + strings.Join(perdure.Thinkings, ", ")}
	}
	if s.given("net") && (perdure.AgentConfig{Net: s.net}).CheckNet() != nil || s.given("net") && s.net == "" {
		return usageError{"--net " + s.net + " is not known", "give open, loopback or none"}
	}
	if _, err := s.metadataJSON(); err != nil {
		return err
	}
	_, err := s.modelsGiven()
	return err
}

// toolNames returns the tools that were given; nil if none were. The word none means an empty list.
func (s *spec) toolNames() *[]string {
	if !s.given("tools") {
		return nil
	}
	names := []string{}
	for _, name := range s.tools {
		if name = strings.TrimSpace(name); name != "" && name != "none" {
			names = append(names, name)
		}
	}
	return &names
}

// checkTools refuses tools that this process's own worker does not have.
func (s *spec) checkTools() error {
	names := s.toolNames()
	if names == nil {
		return nil
	}
	known := builtinNames()
	for _, name := range *names {
		if !slices.Contains(known, name) {
			return usageError{"there is no tool " + name, "the tools are: " + strings.Join(known, ", ") + "; or none"}
		}
	}
	return nil
}

func (s *spec) metadataJSON() (map[string]any, error) {
	members := map[string]any{}
	for _, pair := range s.metadata {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usageError{"--metadata " + pair + " is no pair", "write it like --metadata ticket=42"}
		}
		members[key] = value
	}
	return members, nil
}

// rawOf encodes a value of which encoding cannot fail.
func rawOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // the callers pass maps of strings
	}
	return raw
}
