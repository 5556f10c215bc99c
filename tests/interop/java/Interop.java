import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.exception.RemotingException;

/** A RocketMQ client that the tests drive from outside: one tab-separated line per fact on standard output. */
public class Interop {
    /** How long a send may take, or what listeners are doing may go on at a shutdown: the machine may be slow. */
    static final int PATIENCE_MS = 60_000;

    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "send" -> {
                    for (int at = 3; at < args.length; at += 2) send(args[1], args[2], args[at], Integer.parseInt(args[at + 1]));
                }
                case "consume" -> consume(args[1], args[2], args[3], args[4], args[5]);
                case "queues" -> queues(args[1], args[2]);
                case "lookup" -> lookup(args[1], args[2], args[3], args[4]);
                case "refused" -> refused(args[1], args[2]);
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            exit(1);
        }
        exit(0);
    }

    /** Ends the program: its process, or what stands for it in a host. */
    static void exit(int code) {
        if (Host.runs()) throw new Host.Ended(code);
        System.exit(code);
    }

    static synchronized void say(Object... words) {
        StringBuilder line = new StringBuilder("fact");
        for (Object word : words) line.append("\t").append(word);
        System.out.println(line);
        System.out.flush();
    }

    static DefaultMQProducer producer(String nameserver) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("interop_producer");
        producer.setNamesrvAddr(nameserver);
        producer.setInstanceName("p" + System.nanoTime());
        producer.setSendMsgTimeout(PATIENCE_MS);
        producer.start();
        return producer;
    }

    static Message message(String topic, String mode, int number) {
        int repeats = switch (mode) {
            case "big" -> 2_000;
            case "huge" -> 30_000;  // several blocks of an lz4 frame
            default -> 0;
        };
        String text = mode + "-" + number + (repeats > 0 ? "-" + "0123456789".repeat(repeats) : "");
        Message message = new Message(topic, "tag" + number % 3, "key" + number, text.getBytes(StandardCharsets.UTF_8));
        message.putUserProperty("number", Integer.toString(number));
        message.putUserProperty("text", "größer € 订单");
        message.setFlag(number);
        return message;
    }

    static void said(SendResult result, String body) {
        say("sent", result.getSendStatus(), result.getMsgId(), result.getOffsetMsgId(),
            result.getMessageQueue().getQueueId(), result.getQueueOffset(), body);
    }

    static void send(String nameserver, String topic, String mode, int count) throws Exception {
        DefaultMQProducer producer = producer(nameserver);
        if (mode.equals("batch")) {
            List<Message> batch = new ArrayList<>();
            for (int i = 0; i < count; i++) batch.add(message(topic, mode, i));
            said(producer.send(batch), "batch");
        } else if (mode.equals("async")) {
            CountDownLatch done = new CountDownLatch(count);
            for (int i = 0; i < count; i++) {
                Message message = message(topic, mode, i);
                String body = mode + "-" + i;
                producer.send(message, new SendCallback() {
                    public void onSuccess(SendResult result) { said(result, body); done.countDown(); }
                    public void onException(Throwable problem) { say("failed", body, problem); done.countDown(); }
                });
            }
            done.await(PATIENCE_MS, TimeUnit.MILLISECONDS);
        } else {
            for (int i = 0; i < count; i++) {
                Message message = message(topic, mode, i);
                if (mode.equals("oneway")) producer.sendOneway(message);
                else if (mode.equals("keyed")) said(producer.send(message, new SelectMessageQueueByHash(), "customer-" + i % 5), mode + "-" + i);
                else said(producer.send(message), mode + "-" + i);
            }
            if (mode.equals("oneway")) Thread.sleep(500);
        }
        producer.shutdown();
    }

    /** Consumes until standard input closes. `how`: clustering or broadcasting. */
    static void consume(String nameserver, String topic, String group, String expression, String how) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("c" + System.nanoTime());
        // Else a shutdown does not wait for what was just consumed to be taken note of.
        consumer.setAwaitTerminationMillisWhenShutdown(PATIENCE_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        if (how.equals("broadcasting")) consumer.setMessageModel(org.apache.rocketmq.remoting.protocol.heartbeat.MessageModel.BROADCASTING);
        if (how.startsWith("in room ")) {
            consumer.setClientIP(how.substring(8) + "-1");
            consumer.setAllocateMessageQueueStrategy(
                new AllocateMachineRoomNearby(new AllocateMessageQueueAveragely(), new FirstPart()));
        }
        boolean slowly = how.equals("slowly");  // so that most of a backlog stays at the broker
        if (slowly) {
            consumer.setPullBatchSize(4);
            consumer.setPullThresholdForQueue(4);
            consumer.setPollNameServerInterval(1000);
            consumer.setPersistConsumerOffsetInterval(500);
            consumer.setHeartbeatBrokerInterval(1000);  // with each, it forgets brokers that are gone
        }
        consumer.subscribe(topic, expression);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if (slowly) pause();
            for (MessageExt m : messages)
                say("got", m.getMsgId(), m.getQueueId(), m.getQueueOffset(), m.getTags(), m.getKeys(),
                    m.getUserProperty("number"), new String(m.getBody(), StandardCharsets.UTF_8));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        say("started");
        if (slowly) {
            int queues = consumer.fetchSubscribeMessageQueues(topic).size();
            while (held(consumer, topic) < queues) pause();
            say("holds", queues);
        }
        while (System.in.read() >= 0) { }
        consumer.shutdown();
        say("stopped");
    }

    /** Of how many queues it has learned where to begin. */
    static long held(DefaultMQPushConsumer consumer, String topic) {
        return consumer.getDefaultMQPushConsumerImpl().getRebalanceImpl().getProcessQueueTable().keySet().stream()
            .filter(queue -> queue.getTopic().equals(topic)).count();
    }

    static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException problem) {
            Thread.currentThread().interrupt();
        }
    }

    /** What stands before the first hyphen names the room. */
    static class FirstPart implements AllocateMachineRoomNearby.MachineRoomResolver {
        @Override
        public String brokerDeployIn(MessageQueue queue) {
            return queue.getBrokerName().split("-")[0];
        }

        @Override
        public String consumerDeployIn(String clientId) {
            return clientId.split("-")[0];
        }
    }

    static void queues(String nameserver, String topic) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("interop_puller");
        consumer.setNamesrvAddr(nameserver);
        consumer.start();
        Set<MessageQueue> queues = consumer.fetchSubscribeMessageQueues(topic);
        for (MessageQueue queue : queues) {
            long min = smallest(consumer, queue), max = consumer.maxOffset(queue);
            say("queue", queue.getBrokerName(), queue.getQueueId(), min, max,
                consumer.searchOffset(queue, 0), consumer.searchOffset(queue, Long.MAX_VALUE));
            long offset = min;
            while (offset < max) {
                PullResult result = consumer.pull(queue, "*", offset, 32);
                say("pull", result.getPullStatus(), result.getNextBeginOffset());
                if (result.getMsgFoundList() != null)
                    for (MessageExt m : result.getMsgFoundList())
                        say("read", m.getQueueId(), m.getQueueOffset(), m.getMsgId(), new String(m.getBody(), StandardCharsets.UTF_8), m.getUserProperty("text"));
                offset = result.getNextBeginOffset();
            }
            say("beyond", consumer.pull(queue, "*", max + 5, 32).getPullStatus());
        }
        consumer.shutdown();
    }

    /** A connection that was just made may be closed on a busy machine; this client does not repeat requests. */
    static long smallest(DefaultMQPullConsumer consumer, MessageQueue queue) throws Exception {
        for (int left = 5; ; left--)
            try {
                return consumer.minOffset(queue);
            } catch (MQClientException failed) {
                if (left == 0 || !(failed.getCause() instanceof RemotingException)) throw failed;
            }
    }

    static void lookup(String nameserver, String topic, String key, String offsetMessageId) throws Exception {
        DefaultMQProducer producer = producer(nameserver);
        QueryResult found = producer.queryMessage(topic, key, 32, 0, Long.MAX_VALUE);
        for (MessageExt m : found.getMessageList()) say("by-key", m.getMsgId(), m.getQueueId(), m.getQueueOffset());
        MessageExt byUnique = producer.viewMessage(topic, found.getMessageList().get(0).getMsgId());
        say("by-unique", byUnique.getMsgId(), new String(byUnique.getBody(), StandardCharsets.UTF_8));
        MessageExt byOffset = producer.viewMessage(topic, offsetMessageId);
        say("by-offset", byOffset.getMsgId(), byOffset.getCommitLogOffset());
        producer.shutdown();
    }

    static void refused(String nameserver, String topic) throws Exception {
        DefaultMQProducer producer = producer(nameserver);
        producer.setMaxMessageSize(16 * 1024 * 1024);
        producer.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        producer.setRetryTimesWhenSendFailed(0);
        try {
            say("accepted", producer.send(new Message(topic, new byte[5 * 1024 * 1024])).getSendStatus());
        } catch (MQBrokerException refusal) {
            say("refused", refusal.getResponseCode(), refusal.getErrorMessage());
        }
        try {
            Message delayed = new Message(topic, "x".getBytes());
            delayed.setDelayTimeLevel(3);
            say("accepted", producer.send(delayed).getSendStatus());
        } catch (MQBrokerException refusal) {
            say("refused", refusal.getResponseCode(), refusal.getErrorMessage());
        }
        producer.shutdown();
    }
}
