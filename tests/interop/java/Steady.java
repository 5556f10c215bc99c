import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Sends, or consumes, without an end, whatever its brokers do; until standard input closes. */
public class Steady {
    /** How often clients ask for routes: they hear of another leader so late. */
    static final int POLL_MS = 1000;
    /** Between sends unless words say otherwise, and before another one where one failed. */
    static final int PAUSE_MS = 2, AFTER_FAILURE_MS = 50;

    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "send" -> send(args[1], args[2], args.length > 3 ? Integer.parseInt(args[3]) : PAUSE_MS);
                case "consume" -> consume(args[1], args[2], args[3]);
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static void untilInputCloses() throws Exception {
        while (System.in.read() >= 0) { }
    }

    static void send(String nameserver, String topic, int pauseMs) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("steady_producer");
        producer.setNamesrvAddr(nameserver);
        producer.setPollNameServerInterval(POLL_MS);
        producer.start();
        AtomicBoolean ends = new AtomicBoolean();
        Thread sender = new Thread(() -> {
            for (int number = 0; !ends.get(); number++) {
                String body = "java-" + number;
                int pause = pauseMs;
                try {
                    SendResult result = producer.send(new Message(topic, body.getBytes(StandardCharsets.UTF_8)));
                    Interop.say("sent", result.getSendStatus(), body, System.nanoTime());
                } catch (Exception problem) {
                    Interop.say("failed", body, problem.getClass().getSimpleName());
                    pause = AFTER_FAILURE_MS;
                }
                try {
                    Thread.sleep(pause);
                } catch (InterruptedException problem) {
                    return;
                }
            }
        });
        sender.start();
        untilInputCloses();
        ends.set(true);
        sender.join();
        producer.shutdown();
    }

    static void consume(String nameserver, String topic, String group) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameserver);
        consumer.setPollNameServerInterval(POLL_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages) Interop.say("got", new String(m.getBody(), StandardCharsets.UTF_8));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Interop.say("started");
        untilInputCloses();
        consumer.shutdown();
    }
}
