import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.trace.TraceView;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/** Operators' tools of RocketMQ, a traced producer and a traced member. */
public class Sight {
    static final String TRACES = "RMQ_SYS_TRACE_TOPIC";

    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "look" -> look(args[1], args[2], args[3], args[4], args[5]);
                case "reset" -> reset(args[1], args[2], args[3], Long.parseLong(args[4]));
                case "consume" -> consume(args[1], args[2], args[3]);
                case "send" -> send(args[1], args[2], args[3]);
                case "trace" -> trace(args[1], args[2]);
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static DefaultMQAdminExt admin(String nameserver) throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt(20_000);
        admin.setNamesrvAddr(nameserver);
        admin.setInstanceName("admin" + System.nanoTime());
        admin.start();
        return admin;
    }

    /** All that is asked of a member and of its broker; `id` is the broker's id of a message. */
    static void look(String nameserver, String group, String topic, String client, String id) throws Exception {
        DefaultMQAdminExt admin = admin(nameserver);
        var info = admin.getConsumerRunningInfo(group, client, true);
        for (var each : info.getMqTable().entrySet()) {
            Interop.say("held", each.getKey().getTopic(), each.getKey().getQueueId(),
                each.getValue().getCommitOffset(), each.getValue().getCachedMsgCount(), each.getValue().isDroped());
        }
        for (var each : info.getSubscriptionSet()) Interop.say("subscribed", each.getTopic(), each.getSubString());
        var status = info.getStatusTable().get(topic);
        Interop.say("status", status.getConsumeOKTPS() > 0, status.getConsumeFailedMsgs());
        Interop.say("properties", info.getProperties().get("PROP_CONSUME_TYPE"),
            info.getProperties().get("PROP_CLIENT_VERSION"), info.getJstack().contains("TID:"));
        Interop.say("shown", info.formatString().contains("#Consumer"));
        for (var each : admin.getConsumeStatus(topic, group, "").entrySet()) {
            for (var offset : each.getValue().entrySet()) {
                Interop.say("remembers", each.getKey(), offset.getKey().getQueueId(), offset.getValue());
            }
        }
        var result = admin.consumeMessageDirectly(group, client, topic, id);
        Interop.say("direct", result.getConsumeResult(), result.isOrder(), result.getRemark());
        for (var each : admin.queryConsumeTimeSpan(topic, group)) {
            Interop.say("span", each.getMessageQueue().getQueueId(), each.getMaxTimeStamp() > 0, each.getDelayTime());
        }
        var route = admin.examineTopicRouteInfo(topic);
        String address = route.getBrokerDatas().get(0).selectBrokerAddr();
        var count = admin.viewBrokerStatsData(address, "TOPIC_PUT_NUMS", topic);
        Interop.say("count", count.getStatsMinute().getSum(), count.getStatsHour().getSum());
        var all = admin.fetchConsumeStatsInBroker(address, false, 5000);
        Interop.say("behind", all.getTotalDiff());
        admin.cloneGroupOffset(group, group + "_clone", topic, true);
        admin.shutdown();
    }

    static void reset(String nameserver, String group, String topic, long timestamp) throws Exception {
        DefaultMQAdminExt admin = admin(nameserver);
        for (var each : admin.resetOffsetByTimestamp(topic, group, timestamp, true).entrySet()) {
            Interop.say("reset", each.getKey().getBrokerName(), each.getKey().getQueueId(), each.getValue());
        }
        admin.shutdown();
    }

    static void consume(String nameserver, String group, String topic) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group, null,
            new AllocateMessageQueueAveragely(), true, null);
        consumer.setNamesrvAddr(nameserver);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                Interop.say("got", new String(message.getBody(), StandardCharsets.UTF_8), message.getQueueOffset());
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        // The client itself waits ten seconds before it saves offsets for the first time.
        Executors.newSingleThreadScheduledExecutor().scheduleWithFixedDelay(
            consumer.getDefaultMQPushConsumerImpl()::persistConsumerOffset, 200, 200, TimeUnit.MILLISECONDS);
        Interop.say("started", consumer.getDefaultMQPushConsumerImpl().getmQClientFactory().getClientId());
        while (System.in.read() >= 0) { }
        consumer.shutdown();
        Interop.say("stopped");
    }

    static void send(String nameserver, String topic, String text) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("java_traced", null, true, null);
        producer.setNamesrvAddr(nameserver);
        producer.start();
        var sent = producer.send(new Message(topic, "paid", "o-1", text.getBytes(StandardCharsets.UTF_8)));
        Interop.say("sent", sent.getMsgId());
        // Until 5.0 a producer's end throws away traces that are not sent yet.
        while (System.in.read() >= 0) { }
        producer.shutdown();
        Interop.say("stopped");
    }

    static void trace(String nameserver, String id) throws Exception {
        DefaultMQAdminExt admin = admin(nameserver);
        for (MessageExt message : admin.queryMessage(TRACES, id, 64, 0, Long.MAX_VALUE).getMessageList()) {
            for (TraceView view : TraceView.decodeFromTraceTransData(id, message)) {
                Interop.say("view", view.getMsgType(), view.getGroupName(), view.getTopic(), view.getTags(),
                    view.getKeys(), view.getStatus(), view.getStoreHost(), view.getClientHost(),
                    view.getOffSetMsgId());
            }
        }
        admin.shutdown();
    }
}
