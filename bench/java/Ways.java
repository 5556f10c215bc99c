import org.apache.rocketmq.client.consumer.*;
import org.apache.rocketmq.client.consumer.listener.*;
import org.apache.rocketmq.client.producer.*;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.*;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/** The further ways of delivering, against any broker that speaks RocketMQ remoting. Every mode takes a name server
 *  and a topic first:
 *  fill COUNT                 batches of 100, 100 B, property a = 0..9, b = "x" (what the consuming modes read)
 *  orderly GROUP COUNT        4 threads, up to 32 messages a call
 *  pop GROUP COUNT            push consumer whose group is switched to POP, acks included
 *  sql GROUP COUNT            a = 3 AND b = 'x', a tenth of COUNT; the rate is of messages looked at
 *  tag GROUP COUNT            T3, a tenth of COUNT; likewise
 *  transaction THREADS COUNT  half, commit, visible in the topic
 *  delay THREADS COUNT        sends with level 16, which do not fall due meanwhile
 *  request WINDOW COUNT       round trips, WINDOW under way, the responder in this process too
 */
public class Ways {
    public static void main(String[] a) throws Exception {
        try { run(a[0], a[1], a[2], Arrays.copyOfRange(a, 3, a.length)); } catch (Throwable e) { e.printStackTrace(); System.exit(1); }
        System.exit(0);
    }
    static void run(String mode, String ns, String topic, String[] rest) throws Exception {
        switch (mode) {
            case "fill" -> fill(ns, topic, Integer.parseInt(rest[0]));
            case "orderly", "pop", "sql", "tag" -> consume(mode, ns, topic, rest[0], Integer.parseInt(rest[1]));
            case "transaction" -> transaction(ns, topic, Integer.parseInt(rest[0]), Integer.parseInt(rest[1]));
            case "delay" -> delay(ns, topic, Integer.parseInt(rest[0]), Integer.parseInt(rest[1]));
            case "request" -> request(ns, topic, Integer.parseInt(rest[0]), Integer.parseInt(rest[1]));
            default -> throw new IllegalArgumentException(mode);
        }
    }
    static <P extends DefaultMQProducer> P started(P p, String ns, String topic) throws Exception {
        p.setNamesrvAddr(ns); p.setVipChannelEnabled(false); p.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE); p.start();
        for (int i = 0, tries = 0; i < 20; ) {
            try { p.send(new Message(topic + "_warm", "T", body())); i++; }
            catch (Exception e) { if (++tries > 60) throw e; Thread.sleep(500); } // the broker may still be registering
        }
        return p;
    }
    static byte[] body() { byte[] body = new byte[100]; Arrays.fill(body, (byte) 'x'); return body; }
    static long total(DefaultMQProducer p, String topic) throws Exception {
        long sum = 0;
        for (MessageQueue q : p.fetchPublishMessageQueues(topic)) sum += p.maxOffset(q);
        return sum;
    }
    static void say(String mode, int n, long fail, double sec, long[] lat, int lats) {
        long[] s = Arrays.copyOf(lat, lats); Arrays.sort(s);
        System.out.printf("%s n=%d fail=%d %.0f msg/s p50=%.3fms p99=%.3fms%n", mode, n, fail, n / sec,
            lats == 0 ? 0 : s[lats / 2] / 1e6, lats == 0 ? 0 : s[(int) (lats * 0.99)] / 1e6);
    }
    static void fill(String ns, String topic, int count) throws Exception {
        DefaultMQProducer p = started(new DefaultMQProducer("ways_p"), ns, topic);
        long t0 = System.nanoTime();
        for (int i = 0; i < count; i += 100) {
            List<Message> l = new ArrayList<>(100);
            for (int j = 0; j < 100; j++) {
                Message m = new Message(topic, "T" + j % 10, body());
                m.putUserProperty("a", "" + j % 10); m.putUserProperty("b", "x");
                l.add(m);
            }
            if (p.send(l).getSendStatus() != SendStatus.SEND_OK) throw new Exception("not stored");
        }
        System.out.printf("fill n=%d fail=0 %.0f msg/s%n", count, count / ((System.nanoTime() - t0) / 1e9));
        p.shutdown();
    }
    static void consume(String mode, String ns, String topic, String group, int count) throws Exception {
        DefaultMQPushConsumer c = new DefaultMQPushConsumer(group);
        c.setNamesrvAddr(ns); c.setVipChannelEnabled(false); c.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        c.setConsumeThreadMin(4); c.setConsumeThreadMax(4); c.setConsumeMessageBatchMaxSize(32); c.setPullBatchSize(32);
        if (mode.equals("sql")) c.subscribe(topic, MessageSelector.bySql("a = 3 AND b = 'x'"));
        else c.subscribe(topic, mode.equals("tag") ? "T3" : "*");
        if (mode.equals("pop")) {
            DefaultMQAdminExt admin = new DefaultMQAdminExt();
            admin.setNamesrvAddr(ns); admin.start();
            for (String address : admin.examineBrokerClusterInfo().getBrokerAddrTable().values().iterator().next().getBrokerAddrs().values())
                admin.setMessageRequestMode(address, topic, group, MessageRequestMode.POP, 8, 5000);
            admin.shutdown();
            c.setClientRebalance(false); c.setPopBatchNums(32); c.setPopThresholdForQueue(1000);
        }
        int wanted = mode.equals("sql") || mode.equals("tag") ? count / 10 : count;
        AtomicLong n = new AtomicLong(); AtomicLong first = new AtomicLong(); CountDownLatch done = new CountDownLatch(1);
        Set<String> seen = mode.equals("pop") ? ConcurrentHashMap.newKeySet() : null;
        if (mode.equals("orderly")) c.registerMessageListener((MessageListenerOrderly) (msgs, ctx) -> {
            first.compareAndSet(0, System.nanoTime());
            if (n.addAndGet(msgs.size()) >= wanted) done.countDown();
            return ConsumeOrderlyStatus.SUCCESS;
        });
        else c.registerMessageListener((MessageListenerConcurrently) (msgs, ctx) -> {
            first.compareAndSet(0, System.nanoTime());
            if (seen == null) n.addAndGet(msgs.size());
            else for (MessageExt m : msgs) if (seen.add(m.getQueueId() + ":" + m.getQueueOffset())) n.incrementAndGet();
            if (n.get() >= wanted) done.countDown();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        c.start(); boolean ok = done.await(150, TimeUnit.SECONDS);
        double sec = (System.nanoTime() - first.get()) / 1e9;
        System.out.printf("%s n=%d %s %.0f msg/s%n", mode, n.get(), ok ? "complete" : "INCOMPLETE", (ok ? count : n.get()) / sec);
        if (mode.equals("pop")) Thread.sleep(2000); // the last acks leave
        c.shutdown();
    }
    interface Send { boolean one(Message m) throws Exception; }
    static void threads(String mode, int threads, int count, String topic, Send send, Callable<Boolean> complete) throws Exception {
        long[] lat = new long[count]; AtomicInteger li = new AtomicInteger(); AtomicLong fail = new AtomicLong();
        int per = count / threads; CountDownLatch done = new CountDownLatch(threads);
        long t0 = System.nanoTime();
        for (int t = 0; t < threads; t++) new Thread(() -> {
            for (int i = 0; i < per; i++) {
                long s = System.nanoTime();
                try { if (!send.one(new Message(topic, "T", body()))) fail.incrementAndGet(); }
                catch (Exception e) { fail.incrementAndGet(); }
                lat[li.getAndIncrement()] = System.nanoTime() - s;
            }
            done.countDown();
        }).start();
        done.await();
        for (int i = 0; !complete.call(); i++) { if (i > 3000) { fail.incrementAndGet(); break; } Thread.sleep(5); }
        say(mode, per * threads, fail.get(), (System.nanoTime() - t0) / 1e9, lat, li.get());
    }
    static void transaction(String ns, String topic, int threads, int count) throws Exception {
        TransactionMQProducer p = new TransactionMQProducer("ways_tx");
        p.setTransactionListener(new TransactionListener() {
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) { return LocalTransactionState.COMMIT_MESSAGE; }
            public LocalTransactionState checkLocalTransaction(MessageExt m) { return LocalTransactionState.COMMIT_MESSAGE; }
        });
        started(p, ns, topic);
        for (int i = 0; i < 200; i++) p.sendMessageInTransaction(new Message(topic, "T", body()), null);
        for (int i = 0; total(p, topic) < 200 && i < 2000; i++) Thread.sleep(5);
        long before = total(p, topic);
        threads("transaction", threads, count, topic,
            m -> p.sendMessageInTransaction(m, null).getSendStatus() == SendStatus.SEND_OK,
            () -> total(p, topic) >= before + count / threads * threads);
        p.shutdown();
    }
    static void delay(String ns, String topic, int threads, int count) throws Exception {
        DefaultMQProducer p = started(new DefaultMQProducer("ways_d"), ns, topic);
        Send send = m -> { m.setDelayTimeLevel(16); return p.send(m).getSendStatus() == SendStatus.SEND_OK; };
        for (int i = 0; i < 200; i++) send.one(new Message(topic, "T", body()));
        threads("delay", threads, count, topic, send, () -> true);
        p.shutdown();
    }
    static void request(String ns, String topic, int window, int count) throws Exception {
        DefaultMQProducer answers = started(new DefaultMQProducer("ways_answers"), ns, topic);
        DefaultMQPushConsumer c = new DefaultMQPushConsumer("ways_responder_" + System.nanoTime());
        c.setNamesrvAddr(ns); c.setVipChannelEnabled(false); c.setPullInterval(0); c.subscribe(topic, "*");
        c.registerMessageListener((MessageListenerConcurrently) (msgs, ctx) -> {
            for (MessageExt m : msgs) try { answers.send(MessageUtil.createReplyMessage(m, m.getBody()), 3000); } catch (Exception e) { e.printStackTrace(); }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        DefaultMQProducer p = new DefaultMQProducer("ways_asks");
        p.setInstanceName("asks"); started(p, ns, topic);
        p.send(new Message(topic, "T", body())); // makes the topic, so that the consumer finds it
        c.start(); Thread.sleep(5000);
        long[] lat = new long[count + 500]; AtomicInteger li = new AtomicInteger(); AtomicLong fail = new AtomicLong();
        Semaphore room = new Semaphore(window);
        long t0 = 0;
        for (int i = 0; i < count + 500; i++) { // the first 500 warm up
            if (i == 500) { room.acquire(window); room.release(window); li.set(0); fail.set(0); t0 = System.nanoTime(); }
            room.acquire();
            long s = System.nanoTime();
            // With a selector: without one 5.3.3 calls back a second time when the request was merely stored.
            p.request(new Message(topic, "T", body()), (queues, m, n) -> queues.get((int) n % queues.size()), i, new RequestCallback() {
                public void onSuccess(Message m) { lat[li.getAndIncrement()] = System.nanoTime() - s; room.release(); }
                public void onException(Throwable e) { fail.incrementAndGet(); room.release(); }
            }, 10000);
        }
        room.acquire(window);
        say("request", count, fail.get(), (System.nanoTime() - t0) / 1e9, lat, li.get());
        c.shutdown(); p.shutdown(); answers.shutdown();
    }
}
