package main

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
	v2 "github.com/apache/rocketmq-clients/golang/v5/protocol/v2"
)

// clients are what runs, by number.
type clients struct {
	running  sync.Map
	half     sync.Map
	received sync.Map
	count    atomic.Int64
}

type client interface {
	SetRequestTimeout(timeout time.Duration)
	Start() error
	GracefulStop() error
}

func (all *clients) start(asked command, made client) (answer, error) {
	made.SetRequestTimeout(time.Duration(asked.Options.RequestTimeoutMs) * time.Millisecond)
	if problem := made.Start(); problem != nil {
		return nil, problem
	}
	all.running.Store(asked.Client, made)
	return answer{}, nil
}

func configuration(asked command) *rmq.Config {
	rmq.EnableSsl = asked.Options.TLS
	return &rmq.Config{
		Endpoint:      asked.Options.Endpoint,
		ConsumerGroup: asked.Group,
		Credentials: &credentials.SessionCredentials{
			AccessKey:    asked.Options.AccessKey,
			AccessSecret: asked.Options.SecretKey,
		},
	}
}

func filters(asked command) map[string]*rmq.FilterExpression {
	types := map[string]rmq.FilterExpressionType{"TAG": rmq.TAG, "SQL92": rmq.SQL92}
	found := map[string]*rmq.FilterExpression{}
	for topic, filter := range asked.Subscriptions {
		found[topic] = rmq.NewFilterExpressionWithType(filter[1], types[filter[0]])
	}
	return found
}

func (all *clients) openProducer(asked command) (answer, error) {
	settings := []rmq.ProducerOption{rmq.WithTopics(asked.Topics...)}
	if asked.Checker {
		check := checking(asked.Client)
		settings = append(settings, rmq.WithTransactionChecker(&rmq.TransactionChecker{Check: check}))
	}
	made, problem := rmq.NewProducer(configuration(asked), settings...)
	if problem != nil {
		return nil, problem
	}
	return all.start(asked, made)
}

func (all *clients) openPush(asked command) (answer, error) {
	made, problem := rmq.NewPushConsumer(
		configuration(asked),
		rmq.WithPushAwaitDuration(5*time.Second),
		rmq.WithPushSubscriptionExpressions(filters(asked)),
		rmq.WithPushMessageListener(&rmq.FuncMessageListener{Consume: listening(asked.Client)}),
	)
	if problem != nil {
		return nil, problem
	}
	return all.start(asked, made.(client))
}

func (all *clients) openSimple(asked command) (answer, error) {
	made, problem := rmq.NewSimpleConsumer(
		configuration(asked),
		rmq.WithSimpleAwaitDuration(time.Duration(asked.AwaitMs)*time.Millisecond),
		rmq.WithSimpleSubscriptionExpressions(filters(asked)),
	)
	if problem != nil {
		return nil, problem
	}
	return all.start(asked, made.(client))
}

func (all *clients) send(asked command) (answer, error) {
	found, _ := all.running.Load(asked.Client)
	producer := found.(rmq.Producer)
	message := &rmq.Message{Topic: asked.Message.Topic, Body: asked.Message.Body, Tag: asked.Message.Tag}
	if len(asked.Message.Keys) > 0 {
		message.SetKeys(asked.Message.Keys...)
	}
	for name, value := range asked.Message.Properties {
		message.AddProperty(name, value)
	}
	if asked.Message.Group != nil {
		message.SetMessageGroup(*asked.Message.Group)
	}
	if asked.Message.DelayMs != nil {
		message.SetDelayTimestamp(time.Now().Add(time.Duration(*asked.Message.DelayMs) * time.Millisecond))
	}
	var receipts []*rmq.SendReceipt
	var problem error
	if asked.Message.Transaction {
		transaction := producer.BeginTransaction()
		receipts, problem = producer.SendWithTransaction(context.Background(), message, transaction)
		if problem == nil {
			all.half.Store(receipts[0].MessageID, transaction)
		}
	} else {
		receipts, problem = producer.Send(context.Background(), message)
	}
	if problem != nil {
		return nil, problem
	}
	return answer{"id": receipts[0].MessageID, "recall_handle": nil, "offset": receipts[0].Offset}, nil
}

func (all *clients) end(asked command) (answer, error) {
	found, _ := all.half.LoadAndDelete(asked.IDOfMessage)
	transaction := found.(rmq.Transaction)
	if asked.Decision == "commit" {
		return answer{}, transaction.Commit()
	}
	return answer{}, transaction.RollBack()
}

func (all *clients) receive(asked command) (answer, error) {
	found, _ := all.running.Load(asked.Client)
	invisible := time.Duration(asked.InvisibleMs) * time.Millisecond
	messages, problem := found.(rmq.SimpleConsumer).Receive(context.Background(), asked.Max, invisible)
	if status, is := rmq.AsErrRpcStatus(problem); is && status.Code == int32(v2.Code_MESSAGE_NOT_FOUND) {
		problem = nil
	}
	if problem != nil {
		return nil, problem
	}
	told := []answer{}
	for _, message := range messages {
		number := int(all.count.Add(1))
		all.received.Store(number, message)
		words := described(message)
		words["number"] = number
		told = append(told, words)
	}
	return answer{"messages": told}, nil
}

func (all *clients) ack(asked command) (answer, error) {
	found, _ := all.running.Load(asked.Client)
	message, _ := all.received.Load(asked.Number)
	return answer{}, found.(rmq.SimpleConsumer).Ack(context.Background(), message.(*rmq.MessageView))
}

func (all *clients) change(asked command) (answer, error) {
	found, _ := all.running.Load(asked.Client)
	message, _ := all.received.Load(asked.Number)
	invisible := time.Duration(asked.InvisibleMs) * time.Millisecond
	consumer := found.(rmq.SimpleConsumer)
	return answer{}, consumer.ChangeInvisibleDuration(message.(*rmq.MessageView), invisible)
}

func (all *clients) close(asked command) (answer, error) {
	found, _ := all.running.LoadAndDelete(asked.Client)
	return answer{}, found.(client).GracefulStop()
}

// counter counts what comes more than once.
type counter struct {
	sync.Mutex
	times map[string]int
}

func (counts *counter) next(id string) int {
	counts.Lock()
	defer counts.Unlock()
	counts.times[id]++
	return counts.times[id]
}

// listening gives a listener that does with a message what the message's properties say.
func listening(number int) func(*rmq.MessageView) rmq.ConsumerResult {
	seen := &counter{times: map[string]int{}}
	return func(message *rmq.MessageView) rmq.ConsumerResult {
		times := max(seen.next(message.GetMessageId()), int(message.GetDeliveryAttempt()))
		say(map[string]any{"client": number, "got": described(message)})
		hangs, _ := strconv.Atoi(message.GetProperties()["hangs_ms"])
		time.Sleep(time.Duration(hangs) * time.Millisecond)
		if fails, _ := strconv.Atoi(message.GetProperties()["fails"]); times <= fails {
			return rmq.FAILURE
		}
		return rmq.SUCCESS
	}
}

// checking gives a checker that decides as the message's property says: one word for each time that it is asked,
// the last for ever.
func checking(number int) func(*rmq.MessageView) rmq.TransactionResolution {
	asked := &counter{times: map[string]int{}}
	decisions := map[string]rmq.TransactionResolution{
		"commit": rmq.COMMIT, "rollback": rmq.ROLLBACK, "unknown": rmq.UNKNOWN,
	}
	return func(message *rmq.MessageView) rmq.TransactionResolution {
		words := []string{"unknown"}
		if check, found := message.GetProperties()["check"]; found {
			words = strings.Split(check, ",")
		}
		word := words[min(asked.next(message.GetMessageId()), len(words))-1]
		say(map[string]any{"client": number, "checked": described(message), "decision": word})
		return decisions[word]
	}
}

func described(message *rmq.MessageView) answer {
	words := answer{
		"topic":       message.GetTopic(),
		"body":        message.GetBody(),
		"tag":         message.GetTag(),
		"keys":        message.GetKeys(),
		"properties":  message.GetProperties(),
		"group":       message.GetMessageGroup(),
		"id":          message.GetMessageId(),
		"attempt":     message.GetDeliveryAttempt(),
		"delivery_ms": nil,
		"born_ms":     nil,
	}
	if at := message.GetDeliveryTimestamp(); at != nil {
		words["delivery_ms"] = at.UnixMilli()
	}
	if at := message.GetBornTimestamp(); at != nil {
		words["born_ms"] = at.UnixMilli()
	}
	return words
}
