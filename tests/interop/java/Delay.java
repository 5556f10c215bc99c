import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;

/** Messages that are delivered later. */
public class Delay {
    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "send" -> {
                    for (int at = 3; at < args.length; at += 3) send(args[1], args[2], args[at], args[at + 1], Integer.parseInt(args[at + 2]));
                }
                case "recall" -> recall(args[1], args[2]);
                case "consume" -> consume(args[1], args[2], args[3]);
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static DefaultMQProducer producer(String nameserver) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("delay_java");
        producer.setNamesrvAddr(nameserver);
        producer.setInstanceName("p" + System.nanoTime());
        producer.setSendMsgTimeout(Interop.PATIENCE_MS);
        producer.start();
        return producer;
    }

    /** A message with the property that asks for a later delivery; 4.x clients have no setters for all of them. */
    static Message wishing(String topic, String body, String property, String value) {
        Message message = new Message(topic, "red", body, body.getBytes(StandardCharsets.UTF_8));
        MessageAccessor.putProperty(message, property, value);
        return message;
    }

    static void send(String nameserver, String topic, String property, String value, int count) throws Exception {
        DefaultMQProducer producer = producer(nameserver);
        for (int n = 0; n < count; n++) {
            long began = System.currentTimeMillis();
            try {
                SendResult result = producer.send(wishing(topic, property + "-" + n, property, value));
                Interop.say("sent", result.getSendStatus(), property + "-" + n, result.getMsgId(), began);
            } catch (MQBrokerException refused) {
                Interop.say("refused", refused.getResponseCode(), refused.getErrorMessage());
            }
        }
        producer.shutdown();
    }

    /** Sends two messages for later and takes the first back, twice; only newer clients know how to. */
    static void recall(String nameserver, String topic) throws Exception {
        DefaultMQProducer producer = producer(nameserver);
        String[] handles = new String[2];
        for (int n = 0; n < 2; n++) {
            SendResult result = producer.send(wishing(topic, "recall-" + n, "TIMER_DELAY_SEC", "3"));
            handles[n] = (String) result.getClass().getMethod("getRecallHandle").invoke(result);
            Interop.say("sent", result.getSendStatus(), "recall-" + n, result.getMsgId(), System.currentTimeMillis());
        }
        for (String handle : new String[] {handles[0], "bm8gaGFuZGxl"}) {
            try {
                Object id = producer.getClass().getMethod("recallMessage", String.class, String.class)
                    .invoke(producer, topic, handle);
                Interop.say("recalled", id);
            } catch (java.lang.reflect.InvocationTargetException wrapped) {
                Interop.say("not-recalled", wrapped.getCause().getMessage());
            }
        }
        producer.shutdown();
    }

    /** Consumes until standard input closes. */
    static void consume(String nameserver, String topic, String group) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("c" + System.nanoTime());
        consumer.setAwaitTerminationMillisWhenShutdown(Interop.PATIENCE_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "red");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages) {
                Map<String, String> properties = m.getProperties();
                Interop.say("got", m.getTopic(), new String(m.getBody(), StandardCharsets.UTF_8), m.getMsgId(),
                    m.getStoreTimestamp(), properties.get("REAL_TOPIC"));
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Interop.say("started");
        while (System.in.read() >= 0) { }
        consumer.shutdown();
    }
}
