import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Ordered consumption, and sends that stay with their queue. */
public class Ordered {
    public static void main(String[] args) throws Exception {
        // A queue whose lock is not free at once is looked at again every second, not every 20.
        System.setProperty("rocketmq.client.rebalance.waitInterval", "1000");
        try {
            switch (args[0]) {
                case "consume" -> consume(args[1], args[2], args[3], Integer.parseInt(args[4]));
                case "send" -> send(args[1], args[2], Integer.parseInt(args[3]));
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    /** Consumes until standard input closes. "once…" fails the first time, "bad…" always. `limit` -1: none. */
    static void consume(String nameserver, String topic, String group, int limit) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("c" + System.nanoTime());
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        // 5.x pulls with a subscription that it tells brokers of with its next heartbeat only.
        consumer.setHeartbeatBrokerInterval(1000);
        consumer.setSuspendCurrentQueueTimeMillis(100);
        consumer.setMaxReconsumeTimes(limit);
        consumer.setAwaitTerminationMillisWhenShutdown(Interop.PATIENCE_MS);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            boolean good = true;
            for (MessageExt m : messages) {
                String body = new String(m.getBody(), StandardCharsets.UTF_8);
                Interop.say("got", m.getQueueId(), m.getQueueOffset(), body, m.getReconsumeTimes(), System.currentTimeMillis());
                good &= !body.startsWith("bad") && !(body.startsWith("once") && m.getReconsumeTimes() == 0);
            }
            return good ? ConsumeOrderlyStatus.SUCCESS : ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
        });
        consumer.start();
        Interop.say("started");
        while (System.in.read() >= 0) { }
        consumer.shutdown();
        Interop.say("stopped");
    }

    /** Sends each of `count` keys once. */
    static void send(String nameserver, String topic, int count) throws Exception {
        DefaultMQProducer producer = Interop.producer(nameserver);
        for (int i = 0; i < count; i++) {
            Message message = new Message(topic, ("body-" + i).getBytes(StandardCharsets.UTF_8));
            try {
                SendResult result = producer.send(message, new SelectMessageQueueByHash(), "key-" + i);
                Interop.say("sent", i, result.getMessageQueue().getBrokerName(), result.getMessageQueue().getQueueId());
            } catch (Exception problem) {
                Interop.say("failed", i, problem.getClass().getSimpleName());
            }
        }
        producer.shutdown();
    }
}
