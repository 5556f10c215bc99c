package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// listener does what the two words of a body say: the first one at once, the second when it is asked.
type listener struct{}

func (listener) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	first, _, _ := strings.Cut(string(m.Body), "-")
	return states[first]
}

func (listener) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	say("checked", string(m.Body), m.TransactionId, m.GetProperty(primitive.PropertyProducerGroup), m.Topic)
	_, then, _ := strings.Cut(string(m.Body), "-")
	return states[then]
}

var states = map[string]primitive.LocalTransactionState{
	"commit":   primitive.CommitMessageState,
	"rollback": primitive.RollbackMessageState,
	"unknown":  primitive.UnknowState,
}

// transact GROUP FIRST-THEN...: what each transaction says at once, and when it is asked for.
func transact(asked request) {
	group := asked.words[0]
	sender, problem := rocketmq.NewTransactionProducer(listener{}, asked.producerOptions(group)...)
	must(problem)
	must(sender.Start())
	for _, body := range asked.words[1:] {
		message := primitive.NewMessage(asked.topics[0], []byte(body))
		result, problem := sender.SendMessageInTransaction(context.Background(), message)
		must(problem)
		say("sent", int(result.Status), int(result.State), result.MsgID, result.TransactionID, body)
	}
	untilInputEnds()
	must(sender.Shutdown())
}

// ask COUNT SECONDS sends requests and says their replies.
func ask(asked request) {
	count, problem := strconv.Atoi(asked.words[0])
	must(problem)
	seconds, problem := strconv.Atoi(asked.words[1])
	must(problem)
	sender, problem := rocketmq.NewProducer(asked.producerOptions("go_asks")...)
	must(problem)
	must(sender.Start())
	// A producer makes itself known a second after its start, to brokers that it knows by then from a send.
	// Replies to what it asks before find nobody.
	hello := primitive.NewMessage("hello", []byte("hello"))
	must(sender.SendOneWay(context.Background(), hello))
	time.Sleep(1500 * time.Millisecond)
	for n := 0; n < count; n++ {
		question := primitive.NewMessage(asked.topics[0], []byte(fmt.Sprintf("question-%d", n)))
		reply, problem := sender.Request(context.Background(), time.Duration(seconds)*time.Second, question)
		if problem != nil {
			say("failed", problem)
			continue
		}
		say("reply", string(question.Body), string(reply.Body), reply.GetProperty("MSG_TYPE"))
	}
	must(sender.Shutdown())
}

// answer GROUP replies to what comes, until standard input closes.
func answer(asked request) {
	sender, problem := rocketmq.NewProducer(asked.producerOptions("go_answers")...)
	must(problem)
	must(sender.Start())
	member, problem := rocketmq.NewPushConsumer(asked.consumerOptions(asked.words[0])...)
	must(problem)
	heard := func(about context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range messages {
			reply, problem := consumer.CreateReplyMessage(m, nil)
			must(problem)
			// It is not set by CreateReplyMessage.
			reply.Body = append([]byte("go says "), m.Body...)
			result, problem := sender.SendSync(about, reply)
			must(problem)
			say("answered", int(result.Status), string(m.Body))
		}
		return consumer.ConsumeSuccess, nil
	}
	must(member.Subscribe(asked.topics[0], asked.selector(), heard))
	must(member.Start())
	say("started")
	untilInputEnds()
	must(member.Shutdown())
	must(sender.Shutdown())
}
