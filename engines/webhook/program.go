package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/libretto-k8s/libretto/engines"
)

// program is one endpoint.
type program struct {
	engine *engine
	url    string
	limit  int64
}

// Run sends the request and reads the answer. It always says that the answer
// depends on the time: nobody here knows what the far side looks at.
func (p *program) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	if ctx.Err() != nil {
		return engines.Response{TimeDependent: true}, engines.Ended(ctx)
	}
	body, err := p.ask(ctx, call)
	if err == nil {
		return engines.Response{Body: body, TimeDependent: true}, nil
	}
	if ctx.Err() != nil {
		ended := engines.Ended(ctx)
		ended.Err = err
		return engines.Response{TimeDependent: true}, ended
	}
	return engines.Response{TimeDependent: true}, err
}

func (p *program) ask(ctx context.Context, call engines.Call) (any, error) {
	request, err := p.request(ctx, call)
	if err != nil {
		return nil, failed("making the request: %v", err)
	}
	response, err := p.engine.client.Do(request)
	if err != nil {
		return nil, &engines.Error{Kind: engines.Failed, Message: err.Error(), Err: err}
	}
	defer finish(response.Body)
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response, call.Now)
	}
	text, err := p.read(response.Body)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

func (p *program) request(ctx context.Context, call engines.Call) (*http.Request, error) {
	body, err := json.Marshal(call.Request)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if p.engine.userAgent != "" {
		request.Header.Set("User-Agent", p.engine.userAgent)
	}
	return request, nil
}

// read gives the whole body, unless it is larger than the limit.
func (p *program) read(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, p.limit+1))
	if err != nil {
		return nil, &engines.Error{Kind: engines.BadResponse, Err: err,
			Message: fmt.Sprintf("the response ended after %d bytes, before its end: %v", len(text), err)}
	}
	if int64(len(text)) > p.limit {
		return nil, &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf("the response is larger than %d bytes", p.limit)}
	}
	return text, nil
}

// finish reads what little may be left of a body, so that its connection can be
// used again, and gives up a connection with more on it.
func finish(body io.ReadCloser) {
	const worthReading = 64 << 10
	_, _ = io.CopyN(io.Discard, body, worthReading)
	_ = body.Close()
}

func failed(format string, args ...any) *engines.Error {
	return &engines.Error{Kind: engines.Failed, Message: fmt.Sprintf(format, args...)}
}
