import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Transactions of the Java client. A body says what its listener answers: "commit", "rollback" or "unknown" when it is
 * sent, then a dash and what it answers when the broker asks, each time the next word: "unknown-unknown-commit".
 */
public class Transactions {
    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "produce" -> produce(args);
                case "consume" -> consume(args[1], args[2]);
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static LocalTransactionState state(String body, int time) {
        String[] words = body.split("-");
        return switch (words[Math.min(time, words.length - 1)]) {
            case "commit" -> LocalTransactionState.COMMIT_MESSAGE;
            case "rollback" -> LocalTransactionState.ROLLBACK_MESSAGE;
            default -> LocalTransactionState.UNKNOW;
        };
    }

    static class Listener implements TransactionListener {
        private final ConcurrentHashMap<String, Integer> times = new ConcurrentHashMap<>();

        @Override
        public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
            String body = new String(message.getBody(), StandardCharsets.UTF_8);
            Interop.say("executed", body, message.getTransactionId(), arg);
            return state(body, 0);
        }

        @Override
        public LocalTransactionState checkLocalTransaction(MessageExt message) {
            String body = new String(message.getBody(), StandardCharsets.UTF_8);
            int time = times.merge(message.getTransactionId(), 1, Integer::sum);
            Interop.say("checked", body, message.getTransactionId(), message.getTopic(), message.getQueueId(),
                message.getUserProperty("TRANSACTION_CHECK_TIMES"));
            return state(body, time);
        }
    }

    /** produce NAMESERVER GROUP TOPIC BODY...: sends, then answers the broker until its input ends. */
    static void produce(String[] args) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(args[2]);
        producer.setNamesrvAddr(args[1]);
        producer.setInstanceName("t" + System.nanoTime());
        producer.setSendMsgTimeout(Interop.PATIENCE_MS);
        producer.setTransactionListener(new Listener());
        producer.start();
        for (int i = 4; i < args.length; i++) {
            Message message = new Message(args[3], "tag", "key" + i, args[i].getBytes(StandardCharsets.UTF_8));
            TransactionSendResult result = producer.sendMessageInTransaction(message, "arg" + i);
            Interop.say("sent", result.getSendStatus(), result.getLocalTransactionState(), result.getTransactionId(),
                result.getMsgId(), args[i]);
        }
        if (args.length == 4) producer.fetchPublishMessageQueues(args[3]);
        Interop.say("ready");
        while (System.in.read() >= 0) { }
        producer.shutdown();
        Interop.say("stopped");
    }

    /** consume NAMESERVER TOPIC: tells what is delivered until its input ends. */
    static void consume(String nameserver, String topic) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("transactions_java");
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("c" + System.nanoTime());
        consumer.setAwaitTerminationMillisWhenShutdown(Interop.PATIENCE_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages)
                Interop.say("got", new String(m.getBody(), StandardCharsets.UTF_8), m.getTransactionId(), m.getMsgId(), m.getTags());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Interop.say("started");
        while (System.in.read() >= 0) { }
        consumer.shutdown();
    }
}
