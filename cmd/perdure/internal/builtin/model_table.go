package builtin

import (
	"os"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/react"
	"github.com/perdure/perdure/tool"
	"github.com/spf13/cobra"
)

// ModelTableFlag adds --model-table, the flag for a file with limits and prices of models.
func (w *Worker) ModelTableFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.modelTable, "model-table", "", "JSON file with context windows, maximum outputs and prices of models, in addition to the built-in ones")
}

// models returns the prices and the limits of models: the built-in ones, overridden by those in the
// file of --model-table.
func (w *Worker) models() (llm.Prices, llm.Windows, error) {
	if w.modelTable == "" {
		return llm.DefaultPrices, llm.DefaultWindows, nil
	}
	const advice = `write it like {"openai/my-model": {"window": 32768, "maxOutput": 8192, "price": {"input": 0.2, "output": 0.8}}}`
	text, err := os.ReadFile(w.modelTable)
	if err != nil {
		return nil, nil, setup.NewFileError("--model-table cannot be read", err, advice)
	}
	prices, windows, err := llm.ParseModels(text)
	if err != nil {
		return nil, nil, setup.NewUsageError("--model-table "+w.modelTable+": "+terminal.ErrorMessage(err), advice)
	}
	return prices, windows, nil
}

// Catalog returns the same as the function Catalog, but with the prices and limits in the file of
// --model-table.
func (w *Worker) Catalog() (perdure.Catalog, error) {
	prices, windows, err := w.models()
	if err != nil {
		return perdure.Catalog{}, err
	}
	providers, err := w.providers()
	if err != nil {
		return perdure.Catalog{}, err
	}
	return perdure.Catalog{
		Providers: llm.DescribeProviders(prices, windows), Tools: tool.Infos(tool.Builtin()...), Calls: react.Calls{Providers: providers},
	}, nil
}
