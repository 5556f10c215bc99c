package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

func (asked request) consumerOptions(group string) []consumer.Option {
	model := consumer.Clustering
	if asked.options["model"] == "broadcasting" {
		model = consumer.BroadCasting
	}
	options := []consumer.Option{
		consumer.WithGroupName(group),
		consumer.WithNsResolver(asked.names()),
		consumer.WithCredentials(asked.credentials()),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumerModel(model),
		consumer.WithConsumerOrder(asked.options["ordered"] != ""),
		consumer.WithMaxReconsumeTimes(int32(asked.number("most", -1))),
	}
	if asked.options["trace"] != "" {
		options = append(options, consumer.WithTrace(asked.trace()))
	}
	return options
}

func (asked request) selector() consumer.MessageSelector {
	if sql, found := asked.options["sql"]; found {
		return consumer.MessageSelector{Type: consumer.SQL92, Expression: sql}
	}
	return consumer.MessageSelector{Type: consumer.TAG, Expression: asked.options["tags"]}
}

func got(m *primitive.MessageExt) {
	say("got", m.MsgId, m.Queue.QueueId, m.QueueOffset, m.GetTags(), m.GetKeys(), m.GetProperty("number"),
		string(m.Body), m.GetProperty("text"), m.OffsetMsgId, m.ReconsumeTimes, m.Topic)
}

// consume GROUP works until standard input closes; it fails each message fails= times. With followed=yes it leaves
// so that another member may take over at once.
func consume(asked request) {
	member, problem := rocketmq.NewPushConsumer(asked.consumerOptions(asked.words[0])...)
	must(problem)
	fails := asked.number("fails", 0)
	var both sync.Mutex
	failed := map[string]int{}
	heard := func(about context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range messages {
			got(m)
			if asked.options["ordered"] == "" {
				if int(m.ReconsumeTimes) < fails {
					if concurrently, found := primitive.GetConcurrentlyCtx(about); found {
						concurrently.DelayLevelWhenNextConsume = asked.number("level", 0)
					}
					return consumer.ConsumeRetryLater, nil
				}
				continue
			}
			both.Lock()
			failed[m.MsgId]++
			again := failed[m.MsgId] <= fails
			both.Unlock()
			if again {
				return consumer.SuspendCurrentQueueAMoment, nil
			}
		}
		return consumer.ConsumeSuccess, nil
	}
	for _, topic := range asked.topics {
		must(member.Subscribe(topic, asked.selector(), heard))
	}
	must(member.Start())
	began := time.Now()
	say("started")
	untilInputEnds()
	// Shutdown does not wait for what was just consumed to be taken note of.
	time.Sleep(500 * time.Millisecond)
	if asked.options["followed"] != "" {
		// Apache's broker may come to the heartbeat of the first second after the end of the connection; the
		// group would keep a member that is gone for two minutes.
		time.Sleep(time.Until(began.Add(2 * time.Second)))
	}
	must(member.Shutdown())
	say("stopped")
}

// pull GROUP QUEUES reads each queue from its first message and commits the end.
func pull(asked request) {
	member, problem := rocketmq.NewPullConsumer(asked.consumerOptions(asked.words[0])...)
	must(problem)
	topic := asked.topics[0]
	must(member.Subscribe(topic, asked.selector()))
	must(member.Start())
	var queues int
	_, problem = fmt.Sscan(asked.words[1], &queues)
	must(problem)
	ends := make(map[*primitive.MessageQueue]int64)
	for id := 0; id < queues; id++ {
		queue := &primitive.MessageQueue{Topic: topic, BrokerName: asked.options["broker"], QueueId: id}
		next := int64(0)
		for {
			result, problem := member.PullFrom(context.Background(), queue, next, 4)
			must(problem)
			if result.Status == primitive.PullFound {
				for _, m := range result.GetMessageExts() {
					m.Queue = queue
					got(m)
				}
			}
			next = result.NextBeginOffset
			if next >= result.MaxOffset {
				say("pulled", id, int(result.Status), next, result.MinOffset, result.MaxOffset)
				break
			}
		}
		ends[queue] = next
	}
	untilInputEnds()
	for queue, next := range ends {
		must(member.UpdateOffset(queue, next))
	}
	must(member.PersistOffset(context.Background(), topic))
	must(member.Shutdown())
}
