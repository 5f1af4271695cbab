module github.com/perdure/perdure/tools/prose

go 1.26
