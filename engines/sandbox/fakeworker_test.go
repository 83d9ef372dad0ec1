//go:build unix

package sandbox_test

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// fakeArgument is the first argument of a worker that somebody has taken over. The next one says what it
// does.
const fakeArgument = "__fake"

// What fake workers do that the host must not put up with.
const (
	speaksWithReady   = "speaks right behind its first message"
	speaksWhenIdle    = "speaks before the first question"
	answersTwice      = "answers twice at once"
	speaksAfterAnswer = "speaks after its answer"
	answersAhead      = "answers the next question before it is asked"
	floodsStderr      = "answers, and writes to stderr without end"
)

func fakeWorker() {
	if len(os.Args) < 3 || os.Args[1] != fakeArgument {
		return
	}
	does := os.Args[2]
	ready := wire.NewEncoder(wire.Begin(nil))
	protocol.Ready{}.Append(ready)
	first := wire.Finish(ready.Bytes())
	if does == speaksWithReady {
		first = append(first, 1)
	}
	say(first)
	if does == speaksWhenIdle {
		say([]byte{1})
	}
	for {
		number := hear()
		answer := answerTo(number)
		switch does {
		case answersTwice:
			say(append(answer, answer...))
		case speaksAfterAnswer:
			say(answer)
			time.Sleep(100 * time.Millisecond)
			say(answer[:1])
		case answersAhead:
			say(answer)
			time.Sleep(100 * time.Millisecond)
			say(answerTo(number + 1))
		case floodsStderr:
			flooding.Do(func() { go flood() })
			<-flooded
			say(answer)
		}
	}
}

var (
	flooding sync.Once
	// flooded is closed when more is written than the pipe holds and the host keeps.
	flooded = make(chan struct{})
)

// flood writes until the process is killed.
func flood() {
	block := make([]byte, 64<<10)
	for n := 0; ; n++ {
		if _, err := os.Stderr.Write(block); err != nil {
			return
		}
		if n == 3 {
			close(flooded)
		}
	}
}

func say(bytes []byte) {
	if _, err := os.Stdout.Write(bytes); err != nil {
		os.Exit(1)
	}
}

// hear returns the number of the next question. It exits if there will be none.
func hear() uint64 {
	payload, err := wire.ReadFrame(os.Stdin, protocol.MaxQuestion)
	if err != nil {
		os.Exit(0)
	}
	question, err := protocol.ReadQuestion(wire.NewDecoder(payload))
	if err != nil && err != io.EOF {
		os.Exit(1)
	}
	return question.Number
}

func answerTo(number uint64) []byte {
	answer := protocol.Answer{Number: number, Response: engines.Response{Body: "the fake worker's"}}
	return wire.Finish(answer.Append(wire.Begin(nil), wire.NewObjects()))
}
