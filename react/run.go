package react

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/scope"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/tool"
)

// RunOptions are the options of Run. Only Model is required.
type RunOptions struct {
	Model perdure.ModelConfig
	// Name and Instance identify the Run within its execution, as they identify a step. If a
	// function calls Run more than once, the calls need different Names or Instances.
	Name, Instance string
	// System is the system prompt.
	System string
	// Tools are the tools that the model may call. Workers register them as task kinds with the
	// function Tasks. Their descriptions and schemas are stored when the Run begins, and do not
	// change during the Run.
	Tools []tool.Tool
	// MaxTurns is the maximum number of model calls; 0 means 50.
	MaxTurns int
	// Approvals is an approval policy for the tool calls of the Run. It can be stricter than the
	// policies with which the execution was started, but never less strict. The worker applies it,
	// not the server.
	Approvals perdure.ApprovalPolicy
	// Net is the network access of bash calls: open, loopback or none; "" means the access that the
	// worker allows.
	Net tool.Net
	// ToolChoice and ToolName have the same meaning as in perdure.Turns. They apply to the first
	// model call only, except that the choice none applies to all model calls.
	ToolChoice, ToolName string
	// MaxTokens is the maximum size of each answer in tokens; 0 means the provider's default.
	MaxTokens   int
	Temperature *float64
	Thinking    llm.Thinking
	// Format is the format that the text of each answer must have; nil means free text.
	Format *perdure.OutputFormat
	// Silent, if set, keeps the answers from being streamed to clients.
	Silent bool
}

// RunResult is the result of the function Run.
type RunResult struct {
	// Message is the last answer of the model. EntryID is the id with which clients see its
	// streamed text; see GenerateResult.EntryID.
	Message perdure.Message
	EntryID uuid.UUID
	// Messages are the messages that were passed to Run, followed by the messages that the Run
	// added. Append a message to continue the conversation in another Run.
	Messages []perdure.Message
	// Usage is the sum of the usage of all model calls. It includes the cost if the prices are
	// known.
	Usage perdure.Usage
	// StopReason is turn_limit if the Run ended because it reached MaxTurns although the model
	// called more tools. Otherwise it is the stop reason of the last answer.
	StopReason perdure.StopReason
	// Turns is the number of model calls that the Run made.
	Turns int
}

// Text returns the text of the last answer.
func (r RunResult) Text() string { return r.Message.PlainText() }

// Run runs the loop of the react agent as a part of an agent of any kind: it asks a model, runs the
// tools that the model calls, returns their results to the model, and continues until the model
// calls no more tools. Each model call and each tool call is a task. If the agent's function is
// entered again, Run uses the stored answers and results, so that no stored answer is paid for
// twice and no finished tool runs again. The options and the messages are stored when the Run
// begins, and apply even if the program has changed when the function is entered again.
//
// The tool calls of one answer run in parallel, but a call of a tool with Barrier runs alone. The
// model reads the error of a tool as a result. A call of a tool that is not in Tools gets an error
// as its result. After a temporary failure, a model call is repeated, with growing pauses.
//
// If the approval policies of the execution, or Approvals, require an approval of a call, people
// are asked, as in the react agent. A denied call gets the reason as its result.
//
// The parameter messages is the conversation, as in a call of Generate. Neither the messages nor
// the answers become part of the execution's conversation. A Run does not compact: its messages
// have to fit into the model's window. Run blocks. Errors: invalid_argument; step_name_reused if
// another Run of the function has the same Name and Instance; a *perdure.TaskError whose code
// begins with model_ if a model call has failed for good. With the *perdure.TaskError, the result
// contains the messages before the failed call.
func Run(ctx agent.Context, messages []perdure.Message, o RunOptions) (RunResult, error) {
	record, err := o.record(ctx, messages)
	if err != nil {
		return RunResult{}, err
	}
	r := &run{ctx: ctx, place: ctx.Place()}
	if err := r.begin(record, o); err != nil {
		return RunResult{}, err
	}
	err = r.loop()
	return r.out, err
}

// runRecord is what a Run stores when it begins: its options and messages. It is the result of a
// step.
type runRecord struct {
	Model     perdure.ModelConfig    `json:"model"`
	Request   generation             `json:"request"` // the options and the first messages
	MaxTurns  int                    `json:"maxTurns"`
	Tools     []callRules            `json:"tools,omitempty"` // in the order of Request.Tools
	Approvals perdure.ApprovalPolicy `json:"approvals,omitempty"`
	Net       string                 `json:"net,omitempty"`
}

// callRules are the properties of a tool that decide how its calls are run.
type callRules struct {
	Name    string         `json:"name"`
	Barrier bool           `json:"barrier,omitempty"`
	OnLost  perdure.OnLost `json:"onLost,omitempty"`
	Timeout time.Duration  `json:"timeout,omitempty"`
}

func (o RunOptions) record(ctx agent.Context, messages []perdure.Message) (runRecord, error) {
	g := GenerateOptions{
		Model: o.Model, Name: o.Name, Instance: o.Instance, System: o.System, ToolChoice: o.ToolChoice, ToolName: o.ToolName,
		MaxTokens: o.MaxTokens, Temperature: o.Temperature, Thinking: o.Thinking, Format: o.Format, Silent: o.Silent,
	}
	r := runRecord{Model: o.Model, MaxTurns: o.MaxTurns, Approvals: o.Approvals, Net: string(o.Net)}
	names := make([]string, len(o.Tools))
	for i, t := range o.Tools {
		names[i] = t.Name
		r.Tools = append(r.Tools, callRules{Name: t.Name, Barrier: t.Barrier, OnLost: t.OnLost, Timeout: t.Timeout})
	}
	g.Tools = specs(o.Tools, names)
	r.Request = g.generation(messages)
	if r.MaxTurns == 0 {
		r.MaxTurns = defaultMaxTurns
	}
	if err := g.check(r.Request.Messages); err != nil {
		return r, err
	}
	if err := perdure.CheckToolNames(perdure.ListPlaces("tools"), names, []perdure.ModelConfig{o.Model}); err != nil {
		return r, err
	}
	return r, o.check()
}

// check checks the options that GenerateOptions does not have. Error: invalid_argument.
func (o RunOptions) check() error {
	if o.MaxTurns < 0 {
		return perdure.FieldErrorf("maxTurns", "must not be negative")
	}
	if err := (perdure.AgentConfig{Net: string(o.Net)}).CheckNet(); err != nil {
		return err
	}
	if err := o.Approvals.Check("approvals"); err != nil {
		return err
	}
	for i, rule := range o.Approvals {
		if rule.When != nil {
			if _, err := ruleSchemas.Compile(rule.When); err != nil {
				return perdure.FieldErrorf(fmt.Sprintf("approvals[%d].when", i), "does not compile: %v", err)
			}
		}
	}
	return nil
}

// runStep returns the name of the step whose result is the runRecord.
func (o RunOptions) runStep() string {
	if o.Name == "" {
		return "react.Run"
	}
	return "react.Run:" + o.Name
}

// begin adds the record of the Run to the next commit or, if the function was entered again, reads
// the stored record.
func (r *run) begin(record runRecord, o RunOptions) error {
	step := o.runStep()
	raw, err := r.ctx.RunStep(step, func(context.Context) (json.RawMessage, error) {
		return json.Marshal(record)
	}, agent.StepInstance(o.Instance), agent.Lazy())
	if perdure.IsCode(err, perdure.StepNameReused) {
		return perdure.Errorf(perdure.StepNameReused, "Run was called twice with the name %q and the instance %q; give each call an Instance of its own", o.Name, o.Instance)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &r.record); err != nil {
		return perdure.FieldErrorf("step", "%s does not decode: %v", step, err)
	}
	if r.frozen, err = r.ctx.Execution().Approvals(); err != nil {
		return err
	}
	r.step = perdure.TaskID(perdure.StepKey(r.ctx.ID(), step, scope.Of(r.ctx)+o.Instance))
	r.out.Messages = r.record.Request.firstMessages()
	return nil
}
