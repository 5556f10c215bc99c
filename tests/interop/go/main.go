// Command interop is a RocketMQ client that the tests drive from outside: one tab-separated line per fact.
//
// Its arguments are a command, the address of the name server, a topic (or several, with commas between), what
// the command wants beside these, and options, name=value.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

var output sync.Mutex

func say(words ...any) {
	output.Lock()
	defer output.Unlock()
	line := "fact"
	for _, word := range words {
		line += "\t" + fmt.Sprint(word)
	}
	fmt.Println(line)
}

func must(problem error) {
	if problem != nil {
		fmt.Fprintln(os.Stderr, problem)
		os.Exit(1)
	}
}

func untilInputEnds() {
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// request is what the command line asks for.
type request struct {
	nameserver string
	topics     []string
	words      []string
	options    map[string]string
}

func parse(arguments []string) request {
	asked := request{arguments[0], strings.Split(arguments[1], ","), nil, map[string]string{}}
	for _, argument := range arguments[2:] {
		if name, value, found := strings.Cut(argument, "="); found {
			asked.options[name] = value
		} else {
			asked.words = append(asked.words, argument)
		}
	}
	return asked
}

func (asked request) number(name string, otherwise int) int {
	text, found := asked.options[name]
	if !found {
		return otherwise
	}
	number, problem := strconv.Atoi(text)
	must(problem)
	return number
}

func (asked request) names() primitive.NsResolver {
	return primitive.NewPassthroughResolver([]string{asked.nameserver})
}

func (asked request) credentials() primitive.Credentials {
	return primitive.Credentials{AccessKey: asked.options["access"], SecretKey: asked.options["secret"]}
}

func (asked request) trace() *primitive.TraceConfig {
	return &primitive.TraceConfig{
		GroupName:   "go_tracer",
		TraceTopic:  asked.options["trace"],
		Access:      primitive.Local,
		Resolver:    asked.names(),
		Credentials: asked.credentials(),
	}
}

func main() {
	level := os.Getenv("GO_CLIENT_LOG")
	if level == "" {
		level = "fatal"
	}
	rlog.SetLogLevel(level)
	commands := map[string]func(request){
		"send": send, "consume": consume, "pull": pull, "transact": transact, "ask": ask, "answer": answer,
	}
	command, found := commands[os.Args[1]]
	if !found {
		must(fmt.Errorf("no such command: %s", os.Args[1]))
	}
	command(parse(os.Args[2:]))
}
