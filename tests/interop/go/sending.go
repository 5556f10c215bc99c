package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

const text = "größer € 订单"

func (asked request) producerOptions(group string) []producer.Option {
	options := []producer.Option{
		producer.WithGroupName(group),
		producer.WithNsResolver(asked.names()),
		producer.WithCredentials(asked.credentials()),
	}
	if asked.options["trace"] != "" {
		options = append(options, producer.WithTrace(asked.trace()))
	}
	return options
}

func (asked request) message(mode string, number int) *primitive.Message {
	body := fmt.Sprintf("%s-%d", mode, number)
	if mode == "big" {
		body += "-" + strings.Repeat("0123456789", asked.number("tens", 2000))
	}
	message := primitive.NewMessage(asked.topics[number%len(asked.topics)], []byte(body))
	message.WithTag(fmt.Sprintf("tag%d", number%3))
	message.WithKeys([]string{fmt.Sprintf("key%d", number), "all"})
	message.WithProperty("number", strconv.Itoa(number))
	message.WithProperty("text", text)
	if mode == "keyed" {
		message.WithShardingKey(fmt.Sprintf("customer-%d", number%5))
	}
	if level := asked.number("level", 0); level > 0 {
		message.WithDelayTimeLevel(level)
	}
	return message
}

func said(result *primitive.SendResult, body string) {
	say("sent", int(result.Status), result.MsgID, result.OffsetMsgID, result.MessageQueue.QueueId,
		result.QueueOffset, body)
}

// send MODE COUNT: sync, async, oneway, batch, keyed (with sharding keys), big (of tens= times ten bytes).
func send(asked request) {
	mode := asked.words[0]
	count, problem := strconv.Atoi(asked.words[1])
	must(problem)
	options := asked.producerOptions("go_producer")
	if mode == "keyed" {
		options = append(options, producer.WithQueueSelector(producer.NewHashQueueSelector()))
	}
	sender, problem := rocketmq.NewProducer(options...)
	must(problem)
	must(sender.Start())
	switch mode {
	case "batch":
		batch := make([]*primitive.Message, count)
		for n := range batch {
			batch[n] = asked.message(mode, n)
		}
		result, problem := sender.SendSync(context.Background(), batch...)
		must(problem)
		said(result, mode)
	case "async":
		asked.sendAsync(sender, count)
	case "oneway":
		for n := 0; n < count; n++ {
			must(sender.SendOneWay(context.Background(), asked.message(mode, n)))
		}
		// This client does not mark such a request as one, and brokers answer it. Where an answer is unread at
		// the close, the system drops what of the requests it has not passed on.
		time.Sleep(time.Second)
	default:
		for n := 0; n < count; n++ {
			message := asked.message(mode, n)
			result, problem := sender.SendSync(context.Background(), message)
			if problem != nil {
				say("refused", problem)
				continue
			}
			said(result, fmt.Sprintf("%s-%d", mode, n))
		}
	}
	if asked.options["trace"] != "" {
		// Shutdown drops traces that have not left.
		time.Sleep(time.Second)
	}
	must(sender.Shutdown())
}

func (asked request) sendAsync(sender rocketmq.Producer, count int) {
	var done sync.WaitGroup
	done.Add(count)
	for n := 0; n < count; n++ {
		heard := func(_ context.Context, result *primitive.SendResult, problem error) {
			must(problem)
			said(result, fmt.Sprintf("async-%d", n))
			done.Done()
		}
		must(sender.SendAsync(context.Background(), heard, asked.message("async", n)))
	}
	done.Wait()
}
