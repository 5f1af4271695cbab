package setup

import (
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// envOf overrides the names of flags' variables; "" means no variable.
var envOf = map[string]string{"help": "", "version": "", "file": ""}

// ReadVariables sets the flags that are not on the command line from variables. The variable
// PERDURE_ with the flag's name has the value. The same name with _FILE names a file with the
// value, as secrets are passed to containers and services.
func ReadVariables(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		name := VariableOf(f)
		if f.Changed || name == "" || failed != nil {
			return
		}
		value, err := fromVariable(name)
		if err != nil {
			failed = err
		}
		if value == "" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failed = NewUsageError(name+": "+err.Error(), "mend or unset the variable")
			return
		}
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[FromVariable] = []string{name}
	})
	return failed
}

// VariableOf returns the name of a flag's variable, "" if it has none.
func VariableOf(f *pflag.Flag) string {
	if given := f.Annotations[VariableAnnotation]; len(given) > 0 {
		return given[0]
	}
	if name, special := envOf[f.Name]; special {
		return name
	}
	return "PERDURE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// fromVariable returns the value of a variable, or the first line of the file that it names.
func fromVariable(name string) (string, error) {
	file := os.Getenv(name + "_FILE")
	if value := os.Getenv(name); value != "" || file == "" {
		return value, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", NewFileError(name+"_FILE", err, "mend or unset the variable")
	}
	value, _, _ := strings.Cut(string(raw), "\n")
	return strings.TrimSpace(value), nil
}

const (
	// VariableAnnotation sets another variable for a flag.
	VariableAnnotation = "perdure-env"
	// FromVariable marks a flag that was set by a variable.
	FromVariable = "perdure-from-env"
)
