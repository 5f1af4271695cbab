module github.com/perdure/perdure/tools/size

go 1.26
