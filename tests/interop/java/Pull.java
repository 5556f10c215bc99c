import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Lite pull consumers: a member of a group, and one that moves about in queues that it was assigned. */
public class Pull {
    public static void main(String[] args) throws Exception {
        try {
            switch (args[0]) {
                case "member" -> member(args[1], args[2], args[3], args[4]);
                case "assigned" -> assigned(args[1], args[2], args[3], Long.parseLong(args[4]));
                default -> throw new IllegalArgumentException(args[0]);
            }
        } catch (Throwable problem) {
            problem.printStackTrace();
            Interop.exit(1);
        }
        Interop.exit(0);
    }

    static DefaultLitePullConsumer consumer(String nameserver, String group) {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(group);
        consumer.setNamesrvAddr(nameserver);
        consumer.setInstanceName("l" + System.nanoTime());
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        return consumer;
    }

    static void got(List<MessageExt> messages) {
        for (MessageExt m : messages)
            Interop.say("got", m.getQueueId(), m.getQueueOffset(), m.getMsgId(), m.getTags(),
                new String(m.getBody(), StandardCharsets.UTF_8));
    }

    /** Polls until standard input closes, then commits. */
    static void member(String nameserver, String topic, String group, String expression) throws Exception {
        DefaultLitePullConsumer consumer = consumer(nameserver, group);
        consumer.subscribe(topic, expression);
        consumer.start();
        Interop.say("started");
        AtomicBoolean ended = new AtomicBoolean();
        Thread watcher = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException closed) {
                // as good as its end
            }
            ended.set(true);
        });
        watcher.setDaemon(true);
        watcher.start();
        while (!ended.get()) {
            got(consumer.poll(100));
            Interop.say("has", consumer.assignment().size());
        }
        consumer.commitSync();
        consumer.shutdown();
        Interop.say("stopped");
    }

    static List<String> poll(DefaultLitePullConsumer consumer, int count) {
        List<String> bodies = new ArrayList<>();
        long end = System.currentTimeMillis() + 20_000;
        while (bodies.size() < count && System.currentTimeMillis() < end)
            for (MessageExt m : consumer.poll(200)) bodies.add(m.getQueueId() + ":" + new String(m.getBody(), StandardCharsets.UTF_8));
        return bodies;
    }

    /** All queues of a topic by hand; `middle`: a time between the second and the third message of queue 0. */
    static void assigned(String nameserver, String topic, String group, long middle) throws Exception {
        DefaultLitePullConsumer consumer = consumer(nameserver, group);
        consumer.setAutoCommit(false);
        consumer.start();
        List<MessageQueue> queues = new ArrayList<>(consumer.fetchMessageQueues(topic));
        queues.sort(Comparator.naturalOrder());
        Interop.say("queues", queues.size());
        MessageQueue first = queues.get(0);
        consumer.assign(Collections.singletonList(first));
        Interop.say("all", String.join(",", poll(consumer, 4)));
        consumer.seek(first, 1);
        Interop.say("sought", String.join(",", poll(consumer, 3)));
        consumer.seekToBegin(first);
        Interop.say("begin", String.join(",", poll(consumer, 4)));
        consumer.seekToEnd(first);
        Interop.say("end", consumer.poll(500).size());
        long offset = consumer.offsetForTimestamp(first, middle);
        Interop.say("time", offset);
        consumer.seek(first, offset);
        Interop.say("since", String.join(",", poll(consumer, 2)));
        consumer.pause(Collections.singletonList(first));
        consumer.seek(first, 0);
        Interop.say("paused", consumer.poll(500).size());
        consumer.resume(Collections.singletonList(first));
        Interop.say("resumed", String.join(",", poll(consumer, 4)));
        try {
            consumer.seek(first, 99);
            Interop.say("beyond", "accepted");
        } catch (Exception refusal) {
            Interop.say("beyond", "refused");
        }
        consumer.seek(first, 3);
        poll(consumer, 1);
        consumer.commitSync();
        Interop.say("committed", consumer.committed(first));
        consumer.shutdown();
    }
}
