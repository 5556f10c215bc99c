import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Requests by callback (the blocking form of 5.3.3 gives up at once), and replies. */
public class RequestReply {
    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "ask" -> ask(args[1], args[2], Integer.parseInt(args[3]), Long.parseLong(args[4]));
                case "answer" -> answer(args[1], args[2], args[3]);
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static DefaultMQProducer producer(String nameserver) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("request_producer");
        producer.setNamesrvAddr(nameserver);
        producer.setInstanceName("r" + System.nanoTime());
        producer.setSendMsgTimeout(Interop.PATIENCE_MS);
        producer.start();
        return producer;
    }

    static void ask(String nameserver, String topic, int count, long timeout) throws Exception {
        DefaultMQProducer producer = producer(nameserver);
        CountDownLatch done = new CountDownLatch(count);
        for (int i = 0; i < count; i++) {
            String body = "question-" + i;
            producer.request(new Message(topic, body.getBytes(StandardCharsets.UTF_8)), new RequestCallback() {
                private Message before;

                public synchronized void onSuccess(Message reply) {
                    // Clients call back for the send, too: without a reply, or once more with one that overtook its answer.
                    if (reply == null || reply == before) return;
                    before = reply;
                    Interop.say("reply", body, new String(reply.getBody(), StandardCharsets.UTF_8), reply.getTopic());
                    done.countDown();
                }
                public void onException(Throwable problem) {
                    Interop.say("failed", body, problem.getClass().getSimpleName());
                    done.countDown();
                }
            }, timeout);
        }
        done.await(timeout + Interop.PATIENCE_MS, TimeUnit.MILLISECONDS);
        producer.shutdown();
    }

    /** Answers until standard input closes. */
    static void answer(String nameserver, String topic, String group) throws Exception {
        DefaultMQProducer producer = producer(nameserver);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("a" + System.nanoTime());
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages) {
                try {
                    String body = "java says " + new String(m.getBody(), StandardCharsets.UTF_8);
                    Message reply = MessageUtil.createReplyMessage(m, body.getBytes(StandardCharsets.UTF_8));
                    Interop.say("answered", producer.send(reply, Interop.PATIENCE_MS).getSendStatus());
                } catch (Exception problem) {
                    Interop.say("failed", problem);
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Interop.say("started");
        while (System.in.read() >= 0) { }
        consumer.shutdown();
        producer.shutdown();
    }
}
