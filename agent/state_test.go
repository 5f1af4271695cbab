package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// checkpointContext is a Context with the state of a checkpoint.
type checkpointContext struct {
	agent.Context
	state   string
	version int
}

func (s *checkpointContext) StateVersion() int { return s.version }

func (s *checkpointContext) State(v any) (bool, error) {
	if s.state == "" {
		return false, nil
	}
	return true, json.Unmarshal([]byte(s.state), v)
}

func TestVersionedState(t *testing.T) {
	type v1 struct{ N int }
	type v3 struct{ Numbers []int }
	migrations := []agent.Migration{
		agent.Migrate(1, func(old v1) (map[string]int, error) { return map[string]int{"number": old.N}, nil }),
		agent.Migrate(2, func(old map[string]int) (v3, error) {
			if old["number"] < 0 {
				return v3{}, errors.New("a negative number")
			}
			return v3{[]int{old["number"]}}, nil
		}),
	}
	states := agent.DefineState[v3](3, migrations...)
	for _, test := range []struct {
		state   string
		version int
		want    string
		fail    string
	}{
		{"", 0, "{[]} false", ""},
		{`{"Numbers":[1,2]}`, 3, "{[1 2]} true", ""},
		{`{"number":4}`, 2, "{[4]} true", ""},
		{`{"N":5}`, 1, "{[5]} true", ""},
		{`{"N":6}`, 0, "{[6]} true", ""}, // the state was saved without a version
		{`{"N":-1}`, 1, "", "of version 2 does not become version 3: a negative number"},
		{`{"N":"x"}`, 1, "", "of version 1 does not become version 2"},
		{`{"Numbers":1}`, 3, "", "of version 3 does not decode"},
		{`{"All":[]}`, 4, "", "has version 4, and this worker knows versions up to 3; run a worker"},
	} {
		got, known, err := states.Load(&checkpointContext{state: test.state, version: test.version})
		if test.fail == "" && (err != nil || fmt.Sprint(got, known) != test.want) || test.fail != "" && (err == nil || !strings.Contains(err.Error(), test.fail)) {
			t.Errorf("%s of version %d gave %v, %v, %v", test.state, test.version, got, known, err)
		}
		if newer := test.version > 3; errors.Is(err, agent.ErrNewerState) != newer || err != nil && !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%s of version %d gave the error %v", test.state, test.version, err)
		}
	}
	zero := agent.DefineState[int](1, agent.Migrate(0, func(s string) (int, error) { return len(s), nil }))
	if n, _, err := zero.Load(&checkpointContext{state: `"four"`}); n != 4 || err != nil {
		t.Errorf("a state without a version became %d, %v", n, err)
	}
	for name, define := range map[string]func(){
		"a gap":         func() { agent.DefineState[v3](3, migrations[1]) },
		"one twice":     func() { agent.DefineState[v3](3, migrations[0], migrations[0], migrations[1]) },
		"one of no use": func() { agent.DefineState[v1](1, migrations[0]) },
		"version 0":     func() { agent.DefineState[v1](0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was taken", name)
				}
			}()
			define()
		}()
	}
}
