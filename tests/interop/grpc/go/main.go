// Command client is the official Go client, driven by lines of JSON: interop/grpc/clients.py says which.
//
// Its own peculiarities end here: an empty receive is an error with the code 40401, and whether it speaks TLS is
// one switch for the whole process.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
)

var output sync.Mutex

func say(words map[string]any) {
	line, problem := json.Marshal(words)
	if problem != nil {
		panic(problem)
	}
	output.Lock()
	defer output.Unlock()
	fmt.Printf("%s\n", line)
}

type options struct {
	Endpoint         string
	TLS              bool
	AccessKey        string `json:"access_key"`
	SecretKey        string `json:"secret_key"`
	RequestTimeoutMs int    `json:"request_timeout_ms"`
}

type sending struct {
	Topic       string
	Body        []byte
	Tag         *string
	Keys        []string
	Properties  map[string]string
	Group       *string
	DelayMs     *int `json:"delay_ms"`
	Transaction bool
}

// command is a line of input, with what any of them may want.
type command struct {
	ID            int
	Do            string
	Client        int
	Options       options
	Topics        []string
	Checker       bool
	Group         string
	Subscriptions map[string][2]string
	AwaitMs       int `json:"await_ms"`
	Message       sending
	IDOfMessage   string `json:"id_of_message"`
	Decision      string
	Max           int32
	InvisibleMs   int `json:"invisible_ms"`
	Number        int
}

type answer map[string]any

func main() {
	running := &clients{}
	carryOut := map[string]func(command) (answer, error){
		"open_producer": running.openProducer,
		"open_push":     running.openPush,
		"open_simple":   running.openSimple,
		"send":          running.send,
		"end":           running.end,
		"receive":       running.receive,
		"ack":           running.ack,
		"change":        running.change,
		"close":         running.close,
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, problem := lines.ReadBytes('\n')
		if problem != nil {
			return
		}
		var asked command
		if problem := json.Unmarshal(line, &asked); problem != nil {
			panic(problem)
		}
		if asked.Do == "quit" {
			return
		}
		do, found := carryOut[asked.Do]
		if !found {
			do = func(command) (answer, error) { return nil, errors.New("this client has no " + asked.Do) }
		}
		go func() { reply(asked.ID, do, asked) }()
	}
}

func reply(id int, do func(command) (answer, error), asked command) {
	found, problem := do(asked)
	if problem == nil {
		say(map[string]any{"id": id, "ok": found})
		return
	}
	var code *int32
	if status, is := rmq.AsErrRpcStatus(problem); is {
		code = &status.Code
	}
	told := map[string]any{"kind": fmt.Sprintf("%T", problem), "text": problem.Error(), "code": code}
	say(map[string]any{"id": id, "error": told})
}
