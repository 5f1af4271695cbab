package terminal

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// Result shows the state of the run, its usage, and the possible next commands.
func (v *TextView) Result(r Result) error {
	v.p.section("result")
	s, word := StyleGood, r.Word
	if word == "" {
		word = strings.ToLower(string(r.Status))
	}
	switch r.Status {
	case perdure.StatusFailed:
		s = StyleError
	case perdure.StatusCompleted:
	default:
		s = StyleWarn
	}
	facts := []string{word}
	if r.StopReason != "" && r.StopReason != perdure.StopEndTurn && r.Status != perdure.StatusCancelled {
		facts = append(facts, strings.ReplaceAll(string(r.StopReason), "_", " "))
	}
	if r.Turns > 0 {
		facts = append(facts, count(r.Turns, "turn"))
	}
	facts = append(facts, Duration(time.Duration(r.Seconds*float64(time.Second))))
	v.p.line(s, strings.Join(facts, " · "))
	v.usage(r)
	v.p.line(StyleDim, "  run "+r.ID.String())
	if len(r.Output) > 0 {
		v.p.hanging(StyleNone, "output: "+contentText(r.Output, r.Local))
	}
	if text := Clean(withoutCode(r.Error)); text != "" && text != v.lastError {
		v.p.hanging(StyleError, "error: "+text)
	}
	for _, line := range v.next(r) {
		write := v.p.hanging
		if strings.Contains(line, ":  ") && strings.Contains(line, " perdure ") {
			write = v.p.line // a person may copy a command, so only the terminal breaks its line
		}
		write(StyleNone, "  "+line)
	}
	return v.p.err
}

func (v *TextView) usage(r Result) {
	for _, model := range slices.Sorted(maps.Keys(r.ByModel)) {
		v.p.line(StyleDim, "  "+model+"  "+usageText(r.ByModel[model]))
	}
	if len(r.ByModel) > 1 {
		v.p.line(StyleDim, "  total  "+totalText(r.Usage, r.ByModel))
	}
}

// Usage shows what a run has used until now.
func (v *TextView) Usage(r Result) {
	v.p.section("result")
	v.p.line(StyleNone, count(r.Turns, "turn")+" · "+Duration(time.Duration(r.Seconds*float64(time.Second))))
	v.usage(r)
}

// Remark shows a remark of the command itself, which may have several lines.
func (v *TextView) Remark(s Style, text string) {
	if v.p.current == noticeSection && strings.Contains(text, "\n") { // a blank line separates a list from the notices above it
		v.p.newline()
		v.p.raw("\n")
	}
	v.notice(s, Clean(text))
}

// contentText returns the beginning of an output, or a placeholder if the run is LOCAL and only its
// worker has the output.
func contentText(content json.RawMessage, local bool) string {
	if local && string(content) == string(perdure.OnWorker) {
		return ContentOnWorkerText
	}
	return outputText(content)
}

// outputText returns the beginning of an agent's output; --json shows all of it.
func outputText(output json.RawMessage) string {
	const most = 4000
	if len(output) <= most {
		return Clean(string(output))
	}
	return Clean(strings.ToValidUTF8(string(output[:most]), "")) + fmt.Sprintf("... (%s bytes; --json shows all)", grouped(int64(len(output))))
}

// next returns the commands that the user may run next, if the run waits, has failed, or continues
// without the user.
func (v *TextView) next(r Result) []string {
	if len(r.Next) > 0 {
		return r.Next
	}
	id, flags := r.ID.String(), v.serverFlags
	waits := r.Status == perdure.StatusWaiting
	if waits && len(r.Questions) > 0 {
		return questionCommands(r, flags)
	}
	switch {
	case waits && r.StopReason == perdure.StopError:
		return []string{
			"try again:      perdure resume " + id + flags,
			"say something:  perdure resume " + id + ` "..."` + flags,
			"end it:         perdure cancel " + id + flags,
		}
	case waits && slices.Contains(r.WaitsFor, perdure.UserMessage):
		return []string{
			"go on:   perdure resume " + id + ` "..."` + flags,
			"end it:  perdure cancel " + id + flags,
		}
	case waits && len(r.WaitsFor) > 0:
		var lines []string
		for i, name := range r.WaitsFor[:min(len(r.WaitsFor), mostSuggested)] {
			lead := "it waits for:  "
			if i > 0 {
				lead = "and for:       "
			}
			lines = append(lines, lead+"perdure signal "+id+" "+name+" JSON"+flags)
		}
		return lines
	case r.Status == perdure.StatusFailed:
		return failedCommands(r, flags)
	case r.Watchable:
		return []string{"watch it:  perdure tail " + id + flags}
	}
	return nil
}

// failedCommands returns the commands for a run that has failed. They do not include perdure show if
// that command itself prints the result.
func failedCommands(r Result, flags string) []string {
	lines := []string{"what happened:  perdure show " + r.ID.String() + flags}
	if r.Command == "show" {
		lines = []string{"its log:      perdure tail " + r.ID.String() + flags}
		if r.Repeat != "" {
			lines = append(lines, "start again:  "+r.Repeat+flags)
		}
	}
	return lines
}

// mostSuggested is the number of questions or signals for which a command is suggested.
const mostSuggested = 5

// questionCommands returns the commands that answer the open questions of a run.
func questionCommands(r Result, flags string) []string {
	var lines []string
	for i, q := range r.Questions {
		if i == mostSuggested {
			lines = append(lines, fmt.Sprintf("%d more:  perdure questions --run %s%s", len(r.Questions)-i, r.ID, flags))
			break
		}
		lines = append(lines, "it asks:  "+Clean(QuestionTitle(q)), "  answer:  perdure answer "+q.ID.String()+" "+Clean(Inline(QuestionAnswers(q)))+flags)
	}
	if !r.React {
		return append(lines, "then:     perdure tail "+r.ID.String()+flags)
	}
	return append(lines, "then:     perdure resume "+r.ID.String()+flags)
}

// totalText formats the usage of all models. If the price of some calls is unknown, the cost is marked
// as a lower bound.
func totalText(u perdure.Usage, byModel map[string]perdure.Usage) string {
	cost := costText(u)
	if u.Cost != nil && !perdure.CostIsWhole(byModel) {
		cost = ">= " + cost
	}
	return tokensText(u) + " · " + cost
}

// UsageText describes a usage with its cost.
func UsageText(u perdure.Usage) string { return usageText(u) }

// usageText formats tokens and cost of one model.
func usageText(u perdure.Usage) string { return tokensText(u) + " · " + costText(u) }

func costText(u perdure.Usage) string {
	if u.Cost == nil {
		return "cost unknown"
	}
	return fmt.Sprintf("$%.4f", *u.Cost)
}

func tokensText(u perdure.Usage) string {
	parts := []string{count(int(u.Calls), "call"), "in " + grouped(u.Input), "out " + grouped(u.Output)}
	if u.CacheRead > 0 {
		parts = append(parts, "cache read "+grouped(u.CacheRead))
	}
	if u.CacheWrite > 0 {
		parts = append(parts, "cache write "+grouped(u.CacheWrite))
	}
	return strings.Join(parts, " · ")
}
