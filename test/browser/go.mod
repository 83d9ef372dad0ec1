// The name is below cmd/libretto, so that the tests may import what is internal there.
module github.com/libretto-k8s/libretto/cmd/libretto/browser

go 1.26.0

require (
	github.com/chromedp/cdproto v0.160.1
	github.com/chromedp/chromedp v0.23.1
	github.com/libretto-k8s/libretto v0.0.0
)

require (
	github.com/evanw/esbuild v0.28.2 // indirect
	github.com/go-json-experiment/json v0.0.0-20260623181947-01eb4420fa68 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/libretto-k8s/libretto => ../..
