import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Consumers that choose messages by expressions. */
public class Filter {
    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "consume" -> consume(args[1], args[2], args[3], args[4]);
                case "pull" -> pull(args[1], args[2], args[3]);
                case "refused" -> {
                    for (int at = 3; at < args.length; at++) refused(args[1], args[2], args[at]);
                }
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static DefaultMQPushConsumer consumer(String nameserver, String group, String topic, String sql) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("c" + System.nanoTime());
        consumer.setAwaitTerminationMillisWhenShutdown(Interop.PATIENCE_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, MessageSelector.bySql(sql));
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages)
                Interop.say("got", new String(m.getBody(), StandardCharsets.UTF_8), m.getQueueId(), m.getQueueOffset());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        return consumer;
    }

    /** Consumes until standard input closes. */
    static void consume(String nameserver, String topic, String group, String sql) throws Exception {
        DefaultMQPushConsumer consumer = consumer(nameserver, group, topic, sql);
        consumer.start();
        Interop.say("started");
        while (System.in.read() >= 0) { }
        consumer.shutdown();
        Interop.say("stopped");
    }

    /** Plain pulls that bring their expression along. */
    static void pull(String nameserver, String topic, String sql) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("filter_puller");
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("p" + System.nanoTime());
        consumer.setHeartbeatBrokerInterval(1000);
        consumer.start();
        java.util.Set<MessageQueue> queues = consumer.fetchSubscribeMessageQueues(topic);
        for (MessageQueue queue : queues) {
            long offset = consumer.minOffset(queue), max = consumer.maxOffset(queue);
            while (offset < max) {
                PullResult result = pull(consumer, queue, sql, offset);
                Interop.say("pull", result.getPullStatus(), result.getNextBeginOffset());
                if (result.getMsgFoundList() != null)
                    for (MessageExt m : result.getMsgFoundList())
                        Interop.say("read", new String(m.getBody(), StandardCharsets.UTF_8));
                offset = result.getNextBeginOffset();
            }
        }
        consumer.shutdown();
    }

    /** The client filters only once a heartbeat told it the broker's version; until then it refuses to pull. */
    static PullResult pull(DefaultMQPullConsumer consumer, MessageQueue queue, String sql, long offset) throws Exception {
        for (int tries = 1; ; tries++) {
            try {
                return consumer.pull(queue, MessageSelector.bySql(sql), offset, 32);
            } catch (MQClientException problem) {
                if (tries == 100 || !String.valueOf(problem.getErrorMessage()).contains("not upgrade")) throw problem;
                Thread.sleep(100);
            }
        }
    }

    /** What the client is told of an expression that is none. */
    static void refused(String nameserver, String topic, String sql) throws Exception {
        try {
            consumer(nameserver, "refused", topic, sql).start();
            Interop.say("accepted");
        } catch (MQClientException problem) {
            Interop.say("refused", problem.getResponseCode(), problem.getErrorMessage());
        }
    }
}
