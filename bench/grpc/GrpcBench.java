import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/** Sends and receives by the official client: send THREADS BYTES COUNT, push COUNT, simple THREADS COUNT. */
public class GrpcBench {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();

    public static void main(String[] args) throws Exception {
        String what = args[0];
        ClientConfiguration where = ClientConfiguration.newBuilder()
            .setEndpoints(args[1]).enableSsl(false).setRequestTimeout(Duration.ofSeconds(10)).build();
        String topic = args[2];
        if (what.equals("send")) {
            send(where, topic, Integer.parseInt(args[3]), Integer.parseInt(args[4]), Integer.parseInt(args[5]));
        } else if (what.equals("push")) {
            push(where, topic, args[3], Integer.parseInt(args[4]));
        } else {
            simple(where, topic, args[3], Integer.parseInt(args[4]), Integer.parseInt(args[5]));
        }
        System.exit(0);
    }

    private static void send(ClientConfiguration where, String topic, int threads, int size, int count)
        throws Exception {
        Producer producer =
            PROVIDER.newProducerBuilder().setClientConfiguration(where).setTopics(topic).build();
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) 'x');
        int each = count / threads;
        long[] nanos = new long[each * threads];
        AtomicInteger failed = new AtomicInteger();
        Thread[] workers = new Thread[threads];
        long begin = System.nanoTime();
        for (int worker = 0; worker < threads; worker++) {
            int first = worker * each;
            workers[worker] = new Thread(() -> {
                for (int number = 0; number < each; number++) {
                    Message message =
                        PROVIDER.newMessageBuilder().setTopic(topic).setBody(body).build();
                    long start = System.nanoTime();
                    try {
                        producer.send(message);
                    } catch (Exception problem) {
                        failed.incrementAndGet();
                    }
                    nanos[first + number] = System.nanoTime() - start;
                }
            });
            workers[worker].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        Arrays.sort(nanos);
        System.out.printf("send n=%d %.0f msg/s p99=%.2fms fail=%d%n", nanos.length, nanos.length / seconds,
            nanos[(int) (nanos.length * 0.99)] / 1e6, failed.get());
    }

    private static void push(ClientConfiguration where, String topic, String group, int count)
        throws Exception {
        CountDownLatch left = new CountDownLatch(count);
        AtomicLong begin = new AtomicLong();
        PushConsumer consumer = PROVIDER.newPushConsumerBuilder()
            .setClientConfiguration(where).setConsumerGroup(group).setConsumptionThreadCount(8)
            .setSubscriptionExpressions(Collections.singletonMap(topic, FilterExpression.SUB_ALL))
            .setMessageListener(message -> {
                begin.compareAndSet(0, System.nanoTime());
                left.countDown();
                return ConsumeResult.SUCCESS;
            }).build();
        boolean all = left.await(120, TimeUnit.SECONDS);
        double seconds = (System.nanoTime() - begin.get()) / 1e9;
        System.out.printf("push n=%d %.0f msg/s fail=%d%n", count, (count - left.getCount()) / seconds, all ? 0 : 1);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void simple(ClientConfiguration where, String topic, String group, int threads, int count)
        throws Exception {
        SimpleConsumer consumer = PROVIDER.newSimpleConsumerBuilder()
            .setClientConfiguration(where).setConsumerGroup(group).setAwaitDuration(Duration.ofSeconds(5))
            .setSubscriptionExpressions(Collections.singletonMap(topic, FilterExpression.SUB_ALL)).build();
        AtomicInteger done = new AtomicInteger();
        AtomicInteger failed = new AtomicInteger();
        Thread[] workers = new Thread[threads];
        long begin = System.nanoTime();
        for (int worker = 0; worker < threads; worker++) {
            workers[worker] = new Thread(() -> {
                while (done.get() < count && failed.get() < 100) {
                    try {
                        List<MessageView> found = consumer.receive(32, Duration.ofSeconds(60));
                        CompletableFuture<?>[] acks =
                            found.stream().map(consumer::ackAsync).toArray(CompletableFuture[]::new);
                        CompletableFuture.allOf(acks).join();
                        done.addAndGet(found.size());
                    } catch (Exception problem) {
                        failed.incrementAndGet();
                    }
                }
            });
            workers[worker].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        double seconds = (System.nanoTime() - begin) / 1e9;
        System.out.printf("simple n=%d %.0f msg/s fail=%d%n", done.get(), done.get() / seconds, failed.get());
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
