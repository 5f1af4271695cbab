package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

type addition struct {
	A int `json:"a" jsonschema_description:"The first number."`
	B int `json:"b"`
}

// sum returns a tool that is made from a function.
func sum() tool.Tool {
	return tool.New("sum", "Add two numbers.", func(_ context.Context, _ *tool.Call, in addition) (tool.Result, error) {
		return tool.Text(fmt.Sprint(in.A + in.B)), nil
	}, tool.WithReadOnly(), tool.WithOnLost(perdure.OnLostRetry))
}

// This example creates a tool from a Go function. The schema is derived from the type of the
// arguments.
func ExampleNew() {
	result, err := sum().Run(context.Background(), &tool.Call{Arguments: json.RawMessage(`{"a": 2, "b": 3}`)})
	fmt.Println(result.PlainText(), result.IsError, err)
	// Output: 5 false <nil>
}

// This example shows that Check returns a result for the model if the arguments do not satisfy the
// schema.
func ExampleTool_Check() {
	refused := sum().Check(json.RawMessage(`{"a": 2}`))
	fmt.Println(refused.IsError)
	fmt.Println(sum().Check(json.RawMessage(`{"a": 2, "b": 3}`)) == nil)
	// Output:
	// true
	// true
}

// This example returns a result that describes a failure to the model. The result is not a Go
// error.
func ExampleErrorf() {
	result := tool.Errorf("There is no file %s.", "a.txt")
	fmt.Println(result.PlainText(), result.IsError)
	// Output: There is no file a.txt. true
}

// This example picks tools from a set by name. An unknown name is an error.
func ExampleNewSet() {
	all, err := tool.NewSet(append(tool.Builtin(), sum())...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(all.Names())
	picked, err := all.Pick([]string{"sum", "grep"})
	fmt.Println(picked.Names(), err)
	_, err = all.Pick([]string{"unknown"})
	fmt.Println(perdure.CodeOf(err))
	// Output:
	// [read-file write-file edit-file bash grep find sum]
	// [sum grep] <nil>
	// invalid_argument
}

// This example lists those tools of a set that change nothing.
func ExampleSet_Tools() {
	set, err := tool.NewSet(tool.Builtin()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range set.Tools() {
		if t.ReadOnly {
			fmt.Println(t.Name)
		}
	}
	// Output:
	// read-file
	// grep
	// find
}

// This example returns built-in tools by name.
func ExampleLookup() {
	set, err := tool.Lookup([]string{"find"})
	if err != nil {
		fmt.Println(err)
		return
	}
	find, _ := set.Get("find")
	fmt.Println(find.Name, find.ReadOnly)
	// Output: find true
}

// This example opens a workspace. File tools read and write files in it, and none outside it.
func ExampleOpenWorkspace() {
	dir, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w, err := tool.OpenWorkspace(dir, ".", tool.WorkspaceOptions{Confine: tool.ConfineOff})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = w.Close() }()
	set, err := tool.Lookup([]string{"write-file", "read-file"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, call := range []struct{ name, arguments string }{
		{"write-file", `{"path": "a.txt", "content": "hello\n"}`},
		{"read-file", `{"path": "a.txt"}`},
		{"read-file", `{"path": "../secret"}`},
	} {
		t, _ := set.Get(call.name)
		result, err := t.Run(context.Background(), &tool.Call{Arguments: json.RawMessage(call.arguments), Workspace: w})
		fmt.Println(call.name, "failed:", result.IsError, err)
	}
	// Output:
	// write-file failed: false <nil>
	// read-file failed: false <nil>
	// read-file failed: true <nil>
}

// This example shows that Dir is the folder in which the program itself finds the files that the
// tools read and write.
func ExampleWorkspace_Dir() {
	base, err := os.MkdirTemp("", "perdure-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(base) }()
	if err := os.Mkdir(filepath.Join(base, "project"), 0o700); err != nil {
		fmt.Println(err)
		return
	}
	w, err := tool.OpenWorkspace(base, "project", tool.WorkspaceOptions{Confine: tool.ConfineOff})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = w.Close() }()
	set, err := tool.Lookup([]string{"write-file"})
	if err != nil {
		fmt.Println(err)
		return
	}
	write, _ := set.Get("write-file")
	arguments := json.RawMessage(`{"path": "notes.txt", "content": "hello"}`)
	if _, err := write.Run(context.Background(), &tool.Call{Arguments: arguments, Workspace: w}); err != nil {
		fmt.Println(err)
		return
	}
	text, err := os.ReadFile(filepath.Join(w.Dir(), "notes.txt"))
	fmt.Println(filepath.Base(w.Dir()), string(text), err)
	// Output: project hello <nil>
}

// This example describes tools for the catalog of a server.
func ExampleInfos() {
	info := tool.Infos(sum())[0]
	fmt.Println(info.Name, info.Description, info.ReadOnly, info.Network)
	// Output: sum Add two numbers. true false
}
