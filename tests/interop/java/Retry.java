import java.nio.charset.StandardCharsets;
import java.util.Set;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Consumers that fail: what comes again to them, and what becomes a dead letter. */
public class Retry {
    public static void main(String[] args) throws Exception {
        System.setProperty("rocketmq.client.rebalance.waitInterval", "500");
        try {
            switch (args[0]) {
                case "consume" -> consume(args[1], args[2], args[3], Integer.parseInt(args[4]), Integer.parseInt(args[5]), Integer.parseInt(args[6]));
                case "dead" -> dead(args[1], args[2]);
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static void say(String word, MessageExt m) {
        Interop.say(word, m.getTopic(), new String(m.getBody(), StandardCharsets.UTF_8), m.getReconsumeTimes(), m.getMsgId(),
            m.getTags(), m.getKeys(), m.getUserProperty("number"), m.getProperty("ORIGIN_MESSAGE_ID"), m.getProperty("RETRY_TOPIC"));
    }

    /** Fails each message `failures` times, with a delay level and a maximum; until standard input closes. */
    static void consume(String nameserver, String topic, String group, int failures, int level, int max) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("r" + System.nanoTime());
        consumer.setAwaitTerminationMillisWhenShutdown(Interop.PATIENCE_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPollNameServerInterval(500);
        consumer.setMaxReconsumeTimes(max);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            context.setDelayLevelWhenNextConsume(level);
            boolean failed = false;
            for (MessageExt m : messages) {
                say("got", m);
                failed |= m.getReconsumeTimes() < failures;
            }
            return failed ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Interop.say("started");
        while (System.in.read() >= 0) { }
        consumer.shutdown();
        Interop.say("stopped");
    }

    static void dead(String nameserver, String group) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("interop_dead");
        consumer.setNamesrvAddr(nameserver);
        consumer.start();
        Set<MessageQueue> queues = consumer.fetchSubscribeMessageQueues("%DLQ%" + group);
        for (MessageQueue queue : queues) {
            long offset = consumer.minOffset(queue), end = consumer.maxOffset(queue);
            while (offset < end) {
                PullResult result = consumer.pull(queue, "*", offset, 32);
                if (result.getMsgFoundList() != null) for (MessageExt m : result.getMsgFoundList()) say("dead", m);
                offset = result.getNextBeginOffset();
            }
        }
        consumer.shutdown();
    }
}
