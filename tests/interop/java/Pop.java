import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.AckCallback;
import org.apache.rocketmq.client.consumer.AckResult;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.PopCallback;
import org.apache.rocketmq.client.consumer.PopResult;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.impl.MQClientAPIImpl;
import org.apache.rocketmq.client.impl.consumer.DefaultMQPushConsumerImpl;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.protocol.header.AckMessageRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.ChangeInvisibleTimeRequestHeader;
import org.apache.rocketmq.remoting.protocol.header.ExtraInfoUtil;
import org.apache.rocketmq.remoting.protocol.header.PopMessageRequestHeader;

/** Consumers whose progress the broker keeps. */
public class Pop {
    /** How long what is popped first stays invisible; on a slow machine the calls after it take their time. */
    static final long INVISIBLE_MS = 6000;
    /** What failed comes again after so long. */
    static final int AGAIN_SECONDS = 2;

    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "consume" -> consume(args[1], args[2], args[3]);
                case "calls" -> calls(args[1], args[2], args[3], args[4], args[5].equals("ordered"));
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static DefaultMQPushConsumer consumer(String nameserver, String group) {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("c" + System.nanoTime());
        consumer.setAwaitTerminationMillisWhenShutdown(Interop.PATIENCE_MS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.setClientRebalance(false);
        return consumer;
    }

    /** Consumes until standard input closes; what begins with "bad" fails the first time. */
    static void consume(String nameserver, String topic, String group) throws Exception {
        DefaultMQPushConsumer consumer = consumer(nameserver, group);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            boolean failed = false;
            for (MessageExt m : messages) {
                String body = new String(m.getBody(), StandardCharsets.UTF_8);
                Interop.say("got", m.getTopic(), body, m.getReconsumeTimes(), m.getMsgId(),
                    m.getProperty(MessageConst.PROPERTY_POP_CK) != null);
                failed |= body.startsWith("bad") && m.getReconsumeTimes() == 0;
            }
            return failed ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        // By itself it would have what failed come again after ten seconds.
        Method steps = DefaultMQPushConsumerImpl.class.getDeclaredMethod("getPopDelayLevel");
        steps.setAccessible(true);
        ((int[]) steps.invoke(consumer.getDefaultMQPushConsumerImpl()))[0] = AGAIN_SECONDS;
        consumer.start();
        Interop.say("started");
        while (System.in.read() >= 0) { }
        consumer.shutdown();
    }

    /** Pops, acknowledges, hides and comes too late, by the calls that simple consumers are built on. */
    static void calls(String nameserver, String address, String topic, String group, boolean ordered) throws Exception {
        DefaultMQPushConsumer consumer = consumer(nameserver, group);
        consumer.registerMessageListener((MessageListenerConcurrently) (m, c) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        consumer.start();
        MQClientInstance instance = consumer.getDefaultMQPushConsumerImpl().getmQClientFactory();
        MQClientAPIImpl api = instance.getMQClientAPIImpl();
        List<MessageExt> first = pop(api, address, topic, group, ordered, 3, INVISIBLE_MS);
        long visible = System.currentTimeMillis() + INVISIBLE_MS;
        Interop.say("ack", ack(api, address, topic, group, first.get(0)).getStatus());
        for (MessageExt m : pop(api, address, topic, group, ordered, 3, Interop.PATIENCE_MS))
            Interop.say("ack", ack(api, address, topic, group, m).getStatus());
        AckResult hidden = hide(api, address, topic, group, first.get(1), 1000);
        Interop.say("hidden", hidden.getStatus(), hidden.getExtraInfo() != null);
        Thread.sleep(Math.max(visible + 200 - System.currentTimeMillis(), 0));
        Interop.say("late", hide(api, address, topic, group, first.get(2), 1000).getStatus());
        List<MessageExt> again = pop(api, address, topic, group, ordered, 3, Interop.PATIENCE_MS);
        while (again.size() < 2) again.addAll(pop(api, address, topic, group, ordered, 3, Interop.PATIENCE_MS));
        for (MessageExt m : again) Interop.say("ack", ack(api, address, topic, group, m).getStatus());
        Interop.say("twice", ack(api, address, topic, group, again.get(0)).getStatus());
        consumer.shutdown();
    }

    static List<MessageExt> pop(MQClientAPIImpl api, String address, String topic, String group, boolean ordered,
            int count, long invisible) throws Exception {
        PopMessageRequestHeader header = new PopMessageRequestHeader();
        header.setConsumerGroup(group);
        header.setTopic(topic);
        header.setQueueId(ordered ? 0 : -1);
        header.setMaxMsgNums(count);
        header.setInvisibleTime(invisible);
        header.setInitMode(0);
        header.setPollTime(500);
        header.setBornTime(System.currentTimeMillis());
        header.setExpType("TAG");
        header.setExp("*");
        header.setOrder(ordered);
        CompletableFuture<PopResult> done = new CompletableFuture<>();
        api.popMessageAsync("broker-a", address, header, Interop.PATIENCE_MS, new PopCallback() {
            public void onSuccess(PopResult result) { done.complete(result); }
            public void onException(Throwable problem) { done.completeExceptionally(problem); }
        });
        PopResult result = done.get(Interop.PATIENCE_MS, TimeUnit.MILLISECONDS);
        List<MessageExt> found = new ArrayList<>();
        if (result.getMsgFoundList() != null) found.addAll(result.getMsgFoundList());
        StringBuilder bodies = new StringBuilder();
        for (MessageExt m : found)
            bodies.append(new String(m.getBody(), StandardCharsets.UTF_8)).append(":").append(m.getReconsumeTimes()).append(" ");
        Interop.say("popped", result.getPopStatus(), bodies.toString().trim());
        return found;
    }

    static AckResult ack(MQClientAPIImpl api, String address, String topic, String group, MessageExt m) throws Exception {
        String info = m.getProperty(MessageConst.PROPERTY_POP_CK);
        String[] words = ExtraInfoUtil.split(info);
        AckMessageRequestHeader header = new AckMessageRequestHeader();
        header.setTopic(ExtraInfoUtil.getRealTopic(words, topic, group));
        header.setQueueId(ExtraInfoUtil.getQueueId(words));
        header.setOffset(ExtraInfoUtil.getQueueOffset(words));
        header.setConsumerGroup(group);
        header.setExtraInfo(info);
        CompletableFuture<AckResult> done = new CompletableFuture<>();
        api.ackMessageAsync(address, Interop.PATIENCE_MS, callback(done), header);
        return done.get(Interop.PATIENCE_MS, TimeUnit.MILLISECONDS);
    }

    static AckResult hide(MQClientAPIImpl api, String address, String topic, String group, MessageExt m, long invisible)
            throws Exception {
        String info = m.getProperty(MessageConst.PROPERTY_POP_CK);
        String[] words = ExtraInfoUtil.split(info);
        ChangeInvisibleTimeRequestHeader header = new ChangeInvisibleTimeRequestHeader();
        header.setTopic(ExtraInfoUtil.getRealTopic(words, topic, group));
        header.setQueueId(ExtraInfoUtil.getQueueId(words));
        header.setOffset(ExtraInfoUtil.getQueueOffset(words));
        header.setConsumerGroup(group);
        header.setExtraInfo(info);
        header.setInvisibleTime(invisible);
        CompletableFuture<AckResult> done = new CompletableFuture<>();
        api.changeInvisibleTimeAsync("broker-a", address, header, Interop.PATIENCE_MS, callback(done));
        return done.get(Interop.PATIENCE_MS, TimeUnit.MILLISECONDS);
    }

    static AckCallback callback(CompletableFuture<AckResult> done) {
        return new AckCallback() {
            public void onSuccess(AckResult result) { done.complete(result); }
            public void onException(Throwable problem) { done.completeExceptionally(problem); }
        };
    }
}
