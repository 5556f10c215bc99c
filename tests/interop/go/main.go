// Command interop is a RocketMQ client that the tests drive from outside: one tab-separated line per fact.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const text = "größer € 订单"

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

func message(topic, mode string, number int) *primitive.Message {
	body := fmt.Sprintf("%s-%d", mode, number)
	if mode == "big" {
		body += "-" + strings.Repeat("0123456789", 2000)
	}
	message := primitive.NewMessage(topic, []byte(body))
	message.WithTag(fmt.Sprintf("tag%d", number%3))
	message.WithKeys([]string{fmt.Sprintf("key%d", number)})
	message.WithProperty("number", strconv.Itoa(number))
	message.WithProperty("text", text)
	if mode == "keyed" {
		message.WithShardingKey(fmt.Sprintf("customer-%d", number%5))
	}
	return message
}

func said(result *primitive.SendResult, body string) {
	say("sent", int(result.Status), result.MsgID, result.OffsetMsgID, result.MessageQueue.QueueId,
		result.QueueOffset, body)
}

func send(nameserver, topic, mode string, count int) {
	options := []producer.Option{
		producer.WithGroupName("go_producer"),
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{nameserver})),
	}
	if mode == "keyed" {
		options = append(options, producer.WithQueueSelector(producer.NewHashQueueSelector()))
	}
	sender, problem := rocketmq.NewProducer(options...)
	must(problem)
	must(sender.Start())
	background := context.Background()
	switch mode {
	case "batch":
		batch := make([]*primitive.Message, count)
		for n := range batch {
			batch[n] = message(topic, mode, n)
		}
		result, problem := sender.SendSync(background, batch...)
		must(problem)
		said(result, "batch")
	case "async":
		var done sync.WaitGroup
		done.Add(count)
		for n := 0; n < count; n++ {
			body := fmt.Sprintf("%s-%d", mode, n)
			heard := func(_ context.Context, result *primitive.SendResult, problem error) {
				must(problem)
				said(result, body)
				done.Done()
			}
			must(sender.SendAsync(background, heard, message(topic, mode, n)))
		}
		done.Wait()
	default:
		for n := 0; n < count; n++ {
			result, problem := sender.SendSync(background, message(topic, mode, n))
			must(problem)
			said(result, fmt.Sprintf("%s-%d", mode, n))
		}
	}
	must(sender.Shutdown())
}

// consume works until standard input closes.
func consume(nameserver, topic, group, expression, how string) {
	model := consumer.Clustering
	if how == "broadcasting" {
		model = consumer.BroadCasting
	}
	member, problem := rocketmq.NewPushConsumer(
		consumer.WithGroupName(group),
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{nameserver})),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerModel(model),
	)
	must(problem)
	selector := consumer.MessageSelector{Type: consumer.TAG, Expression: expression}
	heard := func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range messages {
			say("got", m.MsgId, m.Queue.QueueId, m.QueueOffset, m.GetTags(), m.GetKeys(),
				m.GetProperty("number"), string(m.Body), m.GetProperty("text"), m.OffsetMsgId)
		}
		return consumer.ConsumeSuccess, nil
	}
	must(member.Subscribe(topic, selector, heard))
	must(member.Start())
	say("started")
	_, _ = io.Copy(io.Discard, os.Stdin)
	// Shutdown does not wait for what was just consumed to be taken note of.
	time.Sleep(500 * time.Millisecond)
	must(member.Shutdown())
	say("stopped")
}

func main() {
	rlog.SetLogLevel("error")
	arguments := os.Args[1:]
	switch arguments[0] {
	case "send":
		count, problem := strconv.Atoi(arguments[4])
		must(problem)
		send(arguments[1], arguments[2], arguments[3], count)
	case "consume":
		consume(arguments[1], arguments[2], arguments[3], arguments[4], arguments[5])
	default:
		must(fmt.Errorf("no such command: %s", arguments[0]))
	}
}
