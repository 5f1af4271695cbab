package runs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/tool"
	"github.com/spf13/cobra"
)

// AgentFlags holds the flags that describe an agent, for a run and for a stored definition.
type AgentFlags struct {
	cmd *cobra.Command
	// IgnoreVariables is set to ignore flags that were set by environment variables. Such a variable
	// is only a default, and must not change a stored definition.
	IgnoreVariables bool
	models          []string
	System          string
	tools           []string
	maxTurns        int
	maxTokens       int
	temperature     float64
	thinking        string
	Net             string
	compactAt       float64
	noCompact       bool
	approve         string
	takesAuto       bool // --approve auto is allowed
	metadata        []string
}

// Flags adds the flags to a command.
func (s *AgentFlags) Flags(cmd *cobra.Command) {
	s.cmd = cmd
	f := cmd.Flags()
	f.StringSliceVarP(&s.models, "model", "m", nil, "provider/model; the first is called (default: by which key is set, ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY)")
	f.StringVar(&s.System, "system", "", "system prompt")
	f.StringSliceVar(&s.tools, "tools", nil, "names of the tools that the model may use, or none (default: all built-in ones)")
	f.IntVar(&s.maxTurns, "max-turns", 0, "most model calls of one answer (default 50)")
	f.IntVar(&s.maxTokens, "max-tokens", 0, "most tokens that a model call may write")
	f.Float64Var(&s.temperature, "temperature", 0, "sampling temperature, 0 to 2")
	f.StringVar(&s.thinking, "thinking", "", "how much to reason: off, low, medium, high or xhigh")
	f.Float64Var(&s.compactAt, "compact-at", 0, "part of the model's window, less the longest answer, from which the conversation is compacted, 0.1 to 0.95 (default 0.75)")
	f.BoolVar(&s.noCompact, "no-compact", false, "do not compact the conversation automatically")
	f.StringVar(&s.approve, "approve", "", "which tool calls wait for an approval: allow (none), edits (bash does, edits of files do not), ask (all that change something) confined (bash runs only where commands are confined), or a list of rules as JSON")
	_ = cmd.RegisterFlagCompletionFunc("approve", cobra.FixedCompletions([]string{"allow", "edits", "ask", "confined"}, cobra.ShellCompDirectiveNoFileComp))
	f.StringArrayVar(&s.metadata, "metadata", nil, "KEY=VALUE to find the run by; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("thinking", cobra.FixedCompletions(perdure.Thinkings, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions(BuiltinNames(), cobra.ShellCompDirectiveNoFileComp))
}

// BuiltinNames returns the names of the built-in tools.
func BuiltinNames() []string {
	var names []string
	for _, t := range tool.Builtin() {
		names = append(names, t.Name)
	}
	return names
}

// Given reports whether the user set a flag.
func (s *AgentFlags) Given(flag string) bool {
	f := s.cmd.Flags().Lookup(flag)
	return f != nil && f.Changed && !(s.IgnoreVariables && len(f.Annotations[setup.FromVariable]) > 0)
}

// ModelsGiven returns the models; nil if none were given.
func (s *AgentFlags) ModelsGiven() ([]perdure.ModelConfig, error) {
	if !s.Given("model") {
		return nil, nil
	}
	return builtin.ParseModels(s.models)
}

// Config returns the AgentConfig with the values of the flags that the user has set.
func (s *AgentFlags) Config() perdure.AgentConfig {
	c := perdure.AgentConfig{}
	if s.Given("thinking") {
		c.Thinking = s.thinking
	}
	if s.Given("net") {
		c.Net = s.Net
	}
	if s.Given("max-turns") {
		c.MaxTurns = &s.maxTurns
	}
	if s.Given("max-tokens") {
		c.MaxTokens = &s.maxTokens
	}
	if s.Given("temperature") {
		c.Temperature = &s.temperature
	}
	c.Compaction = s.compaction()
	return c
}

// compaction returns the settings of the compaction; nil if none were given.
func (s *AgentFlags) compaction() *perdure.CompactionConfig {
	var c perdure.CompactionConfig
	if s.Given("compact-at") {
		c.At = &s.compactAt
	}
	if s.Given("no-compact") {
		c.Off = &s.noCompact
	}
	if c == (perdure.CompactionConfig{}) {
		return nil
	}
	return &c
}

// Check returns an error for values that every server would refuse. Errors: UsageError.
func (s *AgentFlags) Check() error {
	switch {
	case s.Given("max-turns") && s.maxTurns < 1:
		return setup.NewUsageError("--max-turns must be at least 1", "")
	case s.Given("max-tokens") && s.maxTokens < 1:
		return setup.NewUsageError("--max-tokens must be at least 1", "")
	case s.Given("temperature") && (s.temperature < 0 || s.temperature > 2):
		return setup.NewUsageError("--temperature must be from 0 to 2", "")
	case s.Config().CheckCompaction() != nil:
		return setup.NewUsageError(fmt.Sprintf("--compact-at must be from %v to %v", perdure.MinCompactionAt, perdure.MaxCompactionAt), "")
	case s.thinking != "" && !slices.Contains(perdure.Thinkings, s.thinking):
		return setup.NewUsageError("--thinking "+s.thinking+" is unknown", "it is one of "+strings.Join(perdure.Thinkings, ", "))
	}
	if s.Given("net") && (perdure.AgentConfig{Net: s.Net}).CheckNet() != nil || s.Given("net") && s.Net == "" {
		return setup.NewUsageError("--net "+s.Net+" is not known", "give open, loopback or none")
	}
	if _, err := s.Policy(); err != nil {
		return err
	}
	if _, err := s.MetadataJSON(); err != nil {
		return err
	}
	_, err := s.ModelsGiven()
	return err
}

// approveAuto is the value of --approve with which the command chooses the policy.
const approveAuto = "auto"

// Policy returns the policy that was given; nil if none was. Error: UsageError.
func (s *AgentFlags) Policy() (perdure.ApprovalPolicy, error) {
	if s.takesAuto && s.approve == approveAuto {
		return nil, nil
	}
	names := perdure.ReadyPolicies
	if s.takesAuto {
		names = approveAuto + ", " + names
	}
	return parsePolicy(s.approve, names)
}

// parsePolicy returns the policy that --approve names or spells out; nil if the flag is empty.
// Error: a UsageError that contains `names`, the names that the flag takes.
func parsePolicy(given, names string) (perdure.ApprovalPolicy, error) {
	if given == "" {
		return nil, nil
	}
	remedy := "give a list of rules as JSON, or one of " + names
	var p perdure.ApprovalPolicy
	if strings.HasPrefix(strings.TrimSpace(given), "[") {
		if err := json.Unmarshal([]byte(given), &p); err != nil {
			return nil, setup.NewUsageError("--approve: "+err.Error(), remedy)
		}
		return p, nil
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	if p.UnmarshalJSON(raw) != nil {
		return nil, setup.NewUsageError("--approve "+given+" is not known", remedy)
	}
	return p, nil
}

// ToolNames returns the tools that were given; nil if none were. The word "none" means an empty
// list.
func (s *AgentFlags) ToolNames() *[]string {
	if !s.Given("tools") {
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
func (s *AgentFlags) checkTools() error {
	names := s.ToolNames()
	if names == nil {
		return nil
	}
	known := BuiltinNames()
	for _, name := range *names {
		if !slices.Contains(known, name) {
			return setup.NewUsageError("there is no tool "+name, "the tools are: "+strings.Join(known, ", ")+"; or none")
		}
	}
	return nil
}

// MetadataJSON returns the members of --metadata.
func (s *AgentFlags) MetadataJSON() (map[string]any, error) { return metadataOf(s.metadata) }

func metadataOf(pairs []string) (map[string]any, error) {
	members := map[string]any{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, setup.NewUsageError("--metadata "+pair+" is no pair", "write it like --metadata ticket=42")
		}
		members[key] = value
	}
	return members, nil
}

// rawOf encodes a map of strings. It panics on failure, which cannot occur.
func rawOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // the callers pass maps of strings
	}
	return raw
}
