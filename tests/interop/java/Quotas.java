import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;

/** Sends whatever its broker's quotas say, and comes again when it is told to. */
public class Quotas {
    static final Pattern AGAIN = Pattern.compile("again in (\\d+) ms");

    public static void main(String[] args) throws Exception {
        try {
            send(args[0], args[1], args[2], Integer.parseInt(args[3]));
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static void send(String nameserver, String group, String topic, int count) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer(group);
        producer.setNamesrvAddr(nameserver);
        producer.setSendMsgTimeout(Interop.PATIENCE_MS);
        producer.start();
        for (int number = 0; number < count; number++) {
            Message message = new Message(topic, ("java-" + number).getBytes(StandardCharsets.UTF_8));
            while (true) {
                try {
                    SendResult result = producer.send(message);
                    Interop.say("sent", result.getSendStatus(), number);
                    break;
                } catch (MQClientException problem) {  // what it throws when its own tries are over
                    if (!(problem.getCause() instanceof MQBrokerException)) throw problem;
                    String remark = ((MQBrokerException) problem.getCause()).getErrorMessage();
                    Interop.say("refused", problem.getResponseCode(), number, remark);
                    Matcher again = AGAIN.matcher(remark);
                    if (!again.find()) throw problem;
                    Thread.sleep(Long.parseLong(again.group(1)));
                }
            }
        }
        producer.shutdown();
    }
}
