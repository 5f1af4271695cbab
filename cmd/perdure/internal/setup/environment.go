package setup

import (
	"os"
	"strings"

	"github.com/spf13/pflag"
)

// envOf contains the names of environment variables that are not the usual ones (see
// ReadVariables), by flag; "" means that the flag has no variable.
var envOf = map[string]string{"help": "", "version": "", "file": ""}

// ReadVariables sets flags from environment variables, unless the command line sets them. The name of a
// variable is PERDURE_ and the flag's name. A variable with _FILE at the end of its name contains the
// path of a file with the value, because containers and services get secrets as files.
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

// VariableOf returns the name of a flag's environment variable, "" if it has none.
func VariableOf(f *pflag.Flag) string {
	if given := f.Annotations[VariableAnnotation]; len(given) > 0 {
		return given[0]
	}
	if name, special := envOf[f.Name]; special {
		return name
	}
	return "PERDURE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// fromVariable returns the value of an environment variable. If it is not set, fromVariable returns the
// first line of the file that the variable with _FILE names.
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
	// VariableAnnotation is the annotation of a flag whose environment variable does not have the
	// usual name (see ReadVariables).
	VariableAnnotation = "perdure-env"
	// FromVariable is the annotation of a flag that an environment variable has set.
	FromVariable = "perdure-from-env"
)
