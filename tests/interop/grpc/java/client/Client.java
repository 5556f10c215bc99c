import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientConfigurationBuilder;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.StaticSessionCredentialsProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.FilterExpressionType;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.ProducerBuilder;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** The official Java client, driven by lines of JSON: interop/grpc/clients.py says which. */
public class Client {
    private static final Gson JSON = new GsonBuilder().serializeNulls().disableHtmlEscaping().create();
    private static final Pattern CODE = Pattern.compile("response-code=(\\d+)");
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static final PrintStream OUTPUT =
        new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    private static final Map<Integer, Closeable> CLIENTS = new ConcurrentHashMap<>();
    private static final Map<String, Transaction> HALF = new ConcurrentHashMap<>();
    private static final Map<Integer, MessageView> RECEIVED = new ConcurrentHashMap<>();
    private static final AtomicInteger COUNT = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ExecutorService workers = Executors.newCachedThreadPool();
        for (String line; (line = lines.readLine()) != null; ) {
            JsonObject words = JSON.fromJson(line, JsonObject.class);
            if (text(words, "do").equals("quit")) break;
            workers.execute(() -> answer(words));
        }
        // Threads of clients that nobody closed are not waited for.
        Runtime.getRuntime().halt(0);
    }

    private static void answer(JsonObject words) {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("id", words.get("id"));
        try {
            answer.put("ok", carryOut(words));
        } catch (Throwable problem) {
            Throwable cause = problem;
            // What a client's start failed for lies deeper, as does what a future failed for.
            while (!(cause instanceof ClientException) && cause.getCause() != null) cause = cause.getCause();
            Map<String, Object> error = new LinkedHashMap<>();
            Matcher code = CODE.matcher(String.valueOf(cause.getMessage()));
            error.put("kind", cause.getClass().getSimpleName());
            error.put("text", String.valueOf(cause.getMessage()));
            error.put("code", code.find() ? Integer.valueOf(code.group(1)) : null);
            answer.put("error", error);
        }
        say(answer);
    }

    private static Map<String, Object> carryOut(JsonObject words) throws Exception {
        return switch (text(words, "do")) {
            case "open_producer" -> openProducer(words);
            case "open_push" -> openPush(words);
            case "open_simple" -> openSimple(words);
            case "send" -> send((Producer) client(words), words.getAsJsonObject("message"));
            case "end" -> {
                Transaction transaction = HALF.remove(text(words, "id_of_message"));
                if (text(words, "decision").equals("commit")) transaction.commit();
                else transaction.rollback();
                yield Map.of();
            }
            case "recall" -> {
                Producer producer = (Producer) client(words);
                yield Map.of("id", producer.recallMessage(text(words, "topic"), text(words, "handle")).getMessageId().toString());
            }
            case "receive" -> receive((SimpleConsumer) client(words), words);
            case "ack" -> {
                ((SimpleConsumer) client(words)).ack(RECEIVED.get(number(words, "number")));
                yield Map.of();
            }
            case "change" -> {
                MessageView message = RECEIVED.get(number(words, "number"));
                ((SimpleConsumer) client(words)).changeInvisibleDuration(message, Duration.ofMillis(number(words, "invisible_ms")));
                yield Map.of();
            }
            case "close" -> {
                CLIENTS.remove(number(words, "client")).close();
                yield Map.of();
            }
            default -> throw new IllegalArgumentException(text(words, "do"));
        };
    }

    private static Map<String, Object> openProducer(JsonObject words) throws Exception {
        ProducerBuilder builder = PROVIDER.newProducerBuilder()
            .setClientConfiguration(configuration(words))
            .setTopics(JSON.fromJson(words.get("topics"), String[].class));
        int client = number(words, "client");
        Map<String, AtomicInteger> asked = new ConcurrentHashMap<>();
        if (words.get("checker").getAsBoolean()) builder.setTransactionChecker(message -> check(client, asked, message));
        CLIENTS.put(client, builder.build());
        return Map.of();
    }

    private static Map<String, Object> openPush(JsonObject words) throws Exception {
        int client = number(words, "client");
        Map<String, AtomicInteger> seen = new ConcurrentHashMap<>();
        CLIENTS.put(client, PROVIDER.newPushConsumerBuilder()
            .setClientConfiguration(configuration(words))
            .setConsumerGroup(text(words, "group"))
            .setSubscriptionExpressions(filters(words))
            .setMessageListener(message -> consume(client, seen, message))
            .build());
        return Map.of();
    }

    private static Map<String, Object> openSimple(JsonObject words) throws Exception {
        CLIENTS.put(number(words, "client"), PROVIDER.newSimpleConsumerBuilder()
            .setClientConfiguration(configuration(words))
            .setConsumerGroup(text(words, "group"))
            .setSubscriptionExpressions(filters(words))
            .setAwaitDuration(Duration.ofMillis(number(words, "await_ms")))
            .build());
        return Map.of();
    }

    private static Map<String, Object> send(Producer producer, JsonObject sent) throws Exception {
        MessageBuilder builder = PROVIDER.newMessageBuilder()
            .setTopic(text(sent, "topic"))
            .setBody(Base64.getDecoder().decode(text(sent, "body")));
        if (has(sent, "tag")) builder.setTag(text(sent, "tag"));
        builder.setKeys(JSON.fromJson(sent.get("keys"), String[].class));
        for (Map.Entry<String, JsonElement> each : sent.getAsJsonObject("properties").entrySet())
            builder.addProperty(each.getKey(), each.getValue().getAsString());
        if (has(sent, "group")) builder.setMessageGroup(text(sent, "group"));
        if (has(sent, "delay_ms")) builder.setDeliveryTimestamp(System.currentTimeMillis() + number(sent, "delay_ms"));
        Message message = builder.build();
        Map<String, Object> answer = new HashMap<>();
        SendReceipt receipt;
        if (sent.get("transaction").getAsBoolean()) {
            Transaction transaction = producer.beginTransaction();
            receipt = producer.send(message, transaction);
            HALF.put(receipt.getMessageId().toString(), transaction);
        } else {
            receipt = producer.send(message);
            String handle = receipt.getRecallHandle();
            answer.put("recall_handle", handle == null || handle.isEmpty() ? null : handle);
        }
        answer.put("id", receipt.getMessageId().toString());
        return answer;
    }

    private static Map<String, Object> receive(SimpleConsumer consumer, JsonObject words) throws Exception {
        List<Map<String, Object>> found = new ArrayList<>();
        Duration invisible = Duration.ofMillis(number(words, "invisible_ms"));
        for (MessageView message : consumer.receive(number(words, "max"), invisible)) {
            int number = COUNT.incrementAndGet();
            RECEIVED.put(number, message);
            Map<String, Object> described = described(message);
            described.put("number", number);
            found.add(described);
        }
        return Map.of("messages", found);
    }

    /** Does with a message what the message's properties say. */
    private static ConsumeResult consume(int client, Map<String, AtomicInteger> seen, MessageView message) {
        int times = seen.computeIfAbsent(message.getMessageId().toString(), id -> new AtomicInteger()).incrementAndGet();
        say(Map.of("client", client, "got", described(message)));
        try {
            Thread.sleep(Long.parseLong(message.getProperties().getOrDefault("hangs_ms", "0")));
        } catch (InterruptedException closed) {
            Thread.currentThread().interrupt();
        }
        int fails = Integer.parseInt(message.getProperties().getOrDefault("fails", "0"));
        return Math.max(times, message.getDeliveryAttempt()) <= fails ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
    }

    /** Decides as the message's property says: one word for each time that it is asked, the last for ever. */
    private static TransactionResolution check(int client, Map<String, AtomicInteger> asked, MessageView message) {
        String[] words = message.getProperties().getOrDefault("check", "unknown").split(",");
        AtomicInteger times = asked.computeIfAbsent(message.getMessageId().toString(), id -> new AtomicInteger());
        String word = words[Math.min(times.getAndIncrement(), words.length - 1)];
        say(Map.of("client", client, "checked", described(message), "decision", word));
        return TransactionResolution.valueOf(word.toUpperCase());
    }

    private static Map<String, Object> described(MessageView message) {
        ByteBuffer buffer = message.getBody();
        byte[] body = new byte[buffer.remaining()];
        buffer.get(body);
        Map<String, Object> described = new LinkedHashMap<>();
        described.put("topic", message.getTopic());
        described.put("body", Base64.getEncoder().encodeToString(body));
        described.put("tag", message.getTag().orElse(null));
        described.put("keys", message.getKeys());
        described.put("properties", message.getProperties());
        described.put("group", message.getMessageGroup().orElse(null));
        described.put("delivery_ms", message.getDeliveryTimestamp().orElse(null));
        described.put("born_ms", message.getBornTimestamp());
        described.put("id", message.getMessageId().toString());
        described.put("attempt", message.getDeliveryAttempt());
        return described;
    }

    private static ClientConfiguration configuration(JsonObject words) {
        JsonObject options = words.getAsJsonObject("options");
        ClientConfigurationBuilder builder = ClientConfiguration.newBuilder()
            .setEndpoints(text(options, "endpoint"))
            .setRequestTimeout(Duration.ofMillis(number(options, "request_timeout_ms")))
            .enableSsl(options.get("tls").getAsBoolean());
        if (has(options, "access_key"))
            builder.setCredentialProvider(
                new StaticSessionCredentialsProvider(text(options, "access_key"), text(options, "secret_key")));
        return builder.build();
    }

    private static Map<String, FilterExpression> filters(JsonObject words) {
        Map<String, FilterExpression> filters = new HashMap<>();
        for (Map.Entry<String, JsonElement> each : words.getAsJsonObject("subscriptions").entrySet()) {
            FilterExpressionType type = FilterExpressionType.valueOf(each.getValue().getAsJsonArray().get(0).getAsString());
            filters.put(each.getKey(), new FilterExpression(each.getValue().getAsJsonArray().get(1).getAsString(), type));
        }
        return filters;
    }

    private static synchronized void say(Object words) {
        OUTPUT.println(JSON.toJson(words));
        OUTPUT.flush();
    }

    private static Closeable client(JsonObject words) {
        return CLIENTS.get(number(words, "client"));
    }

    private static boolean has(JsonObject words, String name) {
        return words.has(name) && !words.get(name).isJsonNull();
    }

    private static String text(JsonObject words, String name) {
        return words.get(name).getAsString();
    }

    private static int number(JsonObject words, String name) {
        return words.get(name).getAsInt();
    }
}
