module github.com/perdure/perdure/tools/pages

go 1.26
