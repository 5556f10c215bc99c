import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** Clients in a namespace, by names ("v1") or by a header field ("v2"), or in a unit ("unit"). */
public class Namespaces {
    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "send" -> send(args[1], args[2], args[3], args[4], Integer.parseInt(args[5]));
                case "consume" -> consume(args[1], args[2], args[3], args[4], args[5], args[6]);
                case "half" -> half(args[1], args[2], args[3], args[4], args[5]);
                case "answer" -> answer(args[1], args[2], args[3], args[4], args[5]);
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    /** Without the newer methods by name: older clients do not have them. */
    static void configure(ClientConfig client, String nameserver, String how, String namespace) throws Exception {
        client.setNamesrvAddr(nameserver);
        client.setInstanceName("n" + System.nanoTime());
        switch (how) {
            case "v1" -> client.setNamespace(namespace);
            case "v2" -> client.getClass().getMethod("setNamespaceV2", String.class).invoke(client, namespace);
            case "unit" -> {
                client.setUnitName(namespace);
                client.setUnitMode(true);
            }
            default -> throw new IllegalArgumentException(how);
        }
    }

    static void send(String nameserver, String how, String namespace, String topic, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("java_producer");
        configure(producer, nameserver, how, namespace);
        producer.setSendMsgTimeout(Interop.PATIENCE_MS);
        producer.start();
        for (int i = 0; i < count; i++) {
            Message message = new Message(topic, ("java-" + i).getBytes(StandardCharsets.UTF_8));
            message.setBuyerId("buyer-" + i);
            SendResult result = producer.send(message);
            Interop.say("sent", result.getSendStatus(), result.getMessageQueue().getTopic());
        }
        producer.shutdown();
    }

    /** Leaves a transaction open: another producer of the group is to be asked. */
    static void half(String nameserver, String how, String namespace, String topic, String group) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer(group);
        configure(producer, nameserver, how, namespace);
        producer.setSendMsgTimeout(Interop.PATIENCE_MS);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
                return LocalTransactionState.UNKNOW;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.UNKNOW;
            }
        });
        producer.start();
        Message message = new Message(topic, "half".getBytes(StandardCharsets.UTF_8));
        Interop.say("sent", producer.sendMessageInTransaction(message, null).getSendStatus());
        producer.shutdown();
    }

    /** Answers requests until standard input closes. */
    static void answer(String nameserver, String how, String namespace, String topic, String group) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("java_answers");
        configure(producer, nameserver, how, namespace);
        producer.start();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        configure(consumer, nameserver, how, namespace);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt m : messages) {
                try {
                    Message reply = MessageUtil.createReplyMessage(m, "java says yes".getBytes(StandardCharsets.UTF_8));
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

    /** Fails the first delivery of each message; until standard input closes. `order`: concurrently or orderly. */
    static void consume(String nameserver, String how, String namespace, String topic, String group, String order) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        configure(consumer, nameserver, how, namespace);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setPollNameServerInterval(500);
        consumer.subscribe(topic, "*");
        if (order.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                for (MessageExt m : messages) say(m, context.getMessageQueue().getTopic());
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                context.setDelayLevelWhenNextConsume(1);
                boolean first = false;
                for (MessageExt m : messages) {
                    say(m, context.getMessageQueue().getTopic());
                    first |= m.getReconsumeTimes() == 0;
                }
                return first ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        consumer.start();
        Interop.say("started", consumer.buildMQClientId());
        while (System.in.read() >= 0) { }
        consumer.shutdown();
        Interop.say("stopped");
    }

    static void say(MessageExt m, String queueTopic) {
        Interop.say("got", m.getTopic(), new String(m.getBody(), StandardCharsets.UTF_8), m.getReconsumeTimes(),
            queueTopic, m.getProperty("INSTANCE_ID"), m.getBuyerId());
    }
}
