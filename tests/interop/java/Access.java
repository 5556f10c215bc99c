import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Clients that sign their requests. Words: what to do, name server, access key, secret key, and what that needs. */
public class Access {
    public static void main(String[] args) throws Exception {
        RPCHook hook = new AclClientRPCHook(new SessionCredentials(args[2], args[3]));
        String[] rest = Arrays.copyOfRange(args, 4, args.length);
        try {
            switch (args[0]) {
                case "send" -> {
                    for (String topic : rest) send(args[1], hook, topic, "hello");
                }
                case "consume" -> consume(args[1], hook, rest[0], rest[1]);
                case "mqadmin" -> mqadmin(hook, rest);
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static void send(String nameserver, RPCHook hook, String topic, String body) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("access_producer", hook);
        producer.setNamesrvAddr(nameserver);
        producer.setSendMsgTimeout(Interop.PATIENCE_MS);
        producer.start();
        try {
            producer.send(new Message(topic, body.getBytes(StandardCharsets.UTF_8)));
            Interop.say("sent");
        } catch (MQBrokerException refused) {
            Interop.say("refused", refused.getResponseCode());
        } catch (MQClientException problem) {
            // Of a broker that refused, after as many tries as it makes; or of a route that nobody told it.
            Interop.say("refused", problem.getResponseCode() == 16 ? 16 : "route");
        } finally {
            producer.shutdown();
        }
    }

    static void consume(String nameserver, RPCHook hook, String group, String topic) throws Exception {
        CountDownLatch came = new CountDownLatch(1);
        DefaultMQPushConsumer consumer =
                new DefaultMQPushConsumer(group, hook, new AllocateMessageQueueAveragely());
        consumer.setNamesrvAddr(nameserver);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            Interop.say("got", new String(messages.get(0).getBody(), StandardCharsets.UTF_8));
            came.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        came.await();
        consumer.shutdown();
    }

    /** One command of mqadmin; each line that it prints is a fact. */
    static void mqadmin(RPCHook hook, String[] words) {
        PrintStream out = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true));
        try {
            MQAdminStartup.main0(words, hook);
        } finally {
            System.setOut(out);
        }
        for (String line : printed.toString().split("\n")) Interop.say("line", line.strip());
    }
}
