package bench

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines/enginetest"
)

var languages = []string{"JavaScript", "CEL", "Jsonnet"}

// requests are those of so many pods and claims, by their size as JSON.
var requests = []struct {
	size     string
	replicas int
}{{"16KB", 3}, {"146KB", 30}, {"1443KB", 300}}

// requestOf is a request as a controller makes it, in which all objects have versions.
func requestOf(replicas int) map[string]any {
	request := enginetest.StatefulSetRequest(replicas, replicas, replicas)
	request["parent"].(map[string]any)["metadata"].(map[string]any)["resourceVersion"] = "7"
	return request
}

// BenchmarkEngines prints a table: the hook in each language and place, against the
// webhook in Go called by this program, and this against a client without any
// engine. That which does not even look into the answer is the least that anybody has to do, and stock
// is what others do who call webhooks. The two of a row take turns, so that they share what else the machine
// does. Times are medians, and so is their ratio; best is the ratio of the shortest.
func BenchmarkEngines(b *testing.B) {
	url := newServer(b)
	here, there := inProcess(b), inWorkers(b)
	for _, r := range requests {
		request := requestOf(r.replicas)
		b.Run(r.size, func(b *testing.B) {
			known, fresh := contenders("webhook", here.webhook(b, url))
			posted, stock := bare(b, url, request), newStock(url)
			for _, language := range languages {
				held, sent := contenders(language+"/worker", there.script(b, language))
				inside, _ := contenders(language+"/in-process", here.script(b, language))
				race(b, held, known, "webhook", request)
				race(b, sent, fresh, "webhook", request)
				race(b, inside, known, "webhook", request)
				race(b, held, stock, "stock", request)
				race(b, sent, stock, "stock", request)
			}
			function, _ := contenders("Go", goFunction)
			race(b, function, known, "webhook", request)
			race(b, known, posted, "bare", request)
			race(b, known, stock, "stock", request)
			race(b, fresh, posted, "bare", request)
			race(b, fresh, stock, "stock", request)
		})
	}
}

// BenchmarkEnginesPercent compares the hook in Jsonnet, which makes names with %, with the same without.
func BenchmarkEnginesPercent(b *testing.B) {
	there := inWorkers(b)
	for _, r := range requests {
		request := requestOf(r.replicas)
		percent, _ := contenders("percent", there.script(b, "Jsonnet"))
		plus, _ := contenders("plus", there.script(b, "Jsonnet", jsonnetPlus))
		percent.name = r.size + "/" + percent.name
		race(b, percent, plus, "plus", request)
	}
}

// TestEngines checks that what is compared answers the same.
func TestEngines(t *testing.T) {
	request := enginetest.StatefulSetRequest(3, 3, 2)
	here, there, url := inProcess(t), inWorkers(t), newServer(t)
	function, _ := contenders("Go", goFunction)
	webhook, _ := contenders("webhook", here.webhook(t, url))
	plus, _ := contenders("plus", there.script(t, "Jsonnet", jsonnetPlus))
	all := []contender{function, webhook, plus, bare(t, url, request), newStock(url)}
	for _, language := range languages {
		worker, _ := contenders(language+"/worker", there.script(t, language))
		inside, _ := contenders(language+"/in-process", here.script(t, language))
		all = append(all, worker, inside)
	}
	for _, c := range all {
		c.check(t, request)
	}
}

// inTurn is how many calls one makes before it is the other's turn: each has what it
// works with in the processors' caches, as in a controller that has more than one parent.
const inTurn = 8

// race times calls of two in turn, and reports ours as a multiple of theirs.
func race(b *testing.B, ours, theirs contender, against string, request map[string]any) {
	b.Run(fmt.Sprintf("%s/vs-%s", ours.name, against), func(b *testing.B) {
		ours.check(b, request)
		theirs.check(b, request)
		var us, them []time.Duration
		for b.Loop() {
			us = ours.turn(b, request, us)
			them = theirs.turn(b, request, them)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(us).Seconds()*1000, "ms/call")
		b.ReportMetric(median(them).Seconds()*1000, "ms/"+against)
		b.ReportMetric(float64(median(us))/float64(median(them)), "times-"+against)
		b.ReportMetric(float64(slices.Min(us))/float64(slices.Min(them)), "best")
	})
}

func median[T cmp.Ordered](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

// bare posts bytes made beforehand, and reads the answer without looking into it:
// the least that anybody has to do who asks that server.
func bare(tb testing.TB, url string, request map[string]any) contender {
	tb.Helper()
	text, err := json.Marshal(request)
	if err != nil {
		tb.Fatal(err)
	}
	client := newBareClient()
	return contender{name: "bare", call: func(context.Context, map[string]any) (any, error) {
		_, err := post(client, url, text)
		return nil, err
	}}
}

// newStock writes the request and reads the answer with encoding/json as well.
func newStock(url string) contender {
	client := newBareClient()
	return contender{name: "stock", call: func(_ context.Context, request map[string]any) (any, error) {
		text, err := json.Marshal(request)
		if err != nil {
			return nil, err
		}
		if text, err = post(client, url, text); err != nil {
			return nil, err
		}
		var answer any
		return nil, json.Unmarshal(text, &answer) // Whole numbers are floats here, so that it is not the same answer.
	}}
}

func newBareClient() *http.Client {
	return &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
}

func post(client *http.Client, url string, text []byte) ([]byte, error) {
	response, err := client.Post(url, "application/json", bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %s: %s", response.Status, answer)
	}
	return answer, err
}
