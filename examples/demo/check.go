package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// read runs a command of perdure with --json and decodes its output.
func (d *demonstration) read(ctx context.Context, v any, name string, args ...string) error {
	c := d.command(ctx, name, append(args, "--json")...)
	var failure bytes.Buffer
	c.Stderr = &failure
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("perdure %s: %w: %s", name, err, failure.String())
	}
	return json.Unmarshal(out, v)
}

func (d *demonstration) newestRun(ctx context.Context) (string, error) {
	var list struct {
		Items []struct {
			ID string `json:"id"`
		} `json:"items"`
	}
	if err := d.read(ctx, &list, "runs"); err != nil {
		return "", err
	}
	if len(list.Items) != 1 {
		return "", fmt.Errorf("there are %d runs, not one", len(list.Items))
	}
	return list.Items[0].ID, nil
}

type shownRun struct {
	Status string `json:"status"`
	Tasks  []struct {
		Kind    string `json:"kind"`
		Status  string `json:"status"`
		Attempt int    `json:"attempt"`
	} `json:"tasks"`
	Entries []struct {
		Role    string `json:"role"`
		Content struct {
			Parts []struct {
				ToolName string `json:"toolName"`
				Parts    []struct {
					Text string `json:"text"`
				} `json:"parts"`
			} `json:"parts"`
		} `json:"content"`
	} `json:"entries"`
}

// check compares the outcome of the run with what the runtime promises.
func (d *demonstration) check(ctx context.Context, id string) error {
	var s shownRun
	if err := d.read(ctx, &s, "show", id); err != nil {
		return err
	}
	return errors.Join(d.checkModel(s), d.checkTools(s), d.checkTold(s), d.checkWork(ctx, s))
}

func verdict(ok bool, format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	if ok {
		fmt.Println("\033[32m✓\033[0m", line)
		return nil
	}
	fmt.Println("\033[31m✗\033[0m", line)
	return errors.New(line)
}

// checkModel counts the calls in the scripted model's journal. The model records each call at the
// beginning of the call, so that a kill cannot hide the call.
func (d *demonstration) checkModel(s shownRun) error {
	file, err := os.Open(d.journal())
	if err != nil {
		return err
	}
	defer file.Close()
	calls, turns := 0, map[int]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); calls++ {
		var call struct {
			Turn int `json:"turn"`
		}
		if err := json.Unmarshal(lines.Bytes(), &call); err != nil {
			return err
		}
		turns[call.Turn]++
	}
	answers := 0
	for _, e := range s.Entries {
		if e.Role == "assistant" {
			answers++
		}
	}
	return verdict(calls == len(turns) && calls == answers,
		"no model call was paid twice: %d calls for %d answers", calls, answers)
}

func (d *demonstration) checkTools(s shownRun) error {
	finished, again, cut := 0, 0, 0
	for _, t := range s.Tasks {
		switch {
		case t.Kind == "llm-request":
		case t.Status == "INTERRUPTED":
			cut++
		default:
			finished++
			if t.Attempt > 1 {
				again++
			}
		}
	}
	return errors.Join(
		verdict(again == 0, "no finished tool ran twice: %d tools, each in one attempt", finished),
		verdict(cut == 1, "the tool that was cut off was not run again behind the model's back"))
}

// checkTold checks the message to the model about the interrupted tool.
func (d *demonstration) checkTold(s shownRun) error {
	for _, e := range s.Entries {
		for _, p := range e.Content.Parts {
			for _, text := range p.Parts {
				if strings.HasPrefix(text.Text, "interrupted") {
					return verdict(true, "the model was told of it, by %s: %q", p.ToolName, text.Text)
				}
			}
		}
	}
	return verdict(false, "the model was told of the tool that was cut off")
}

func (d *demonstration) checkWork(ctx context.Context, s shownRun) error {
	test := exec.CommandContext(ctx, "go", "test", "-count=1", "./...")
	test.Dir = d.workspace()
	out, err := test.CombinedOutput()
	return errors.Join(
		verdict(s.Status == "COMPLETED", "the run is %s", s.Status),
		verdict(err == nil, "the program is repaired: %s", strings.TrimSpace(string(out))))
}
