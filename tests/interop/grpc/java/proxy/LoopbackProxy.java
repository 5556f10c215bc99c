import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import java.lang.reflect.Field;
import java.net.InetSocketAddress;
import java.util.concurrent.ThreadPoolExecutor;
import org.apache.rocketmq.common.utils.AbstractStartAndShutdown;
import org.apache.rocketmq.common.utils.StartAndShutdown;
import org.apache.rocketmq.proxy.ProxyStartup;
import org.apache.rocketmq.proxy.config.ConfigurationManager;
import org.apache.rocketmq.proxy.grpc.GrpcServerBuilder;
import org.apache.rocketmq.proxy.grpc.ProxyAndTlsProtocolNegotiator;
import org.apache.rocketmq.proxy.grpc.v2.GrpcMessagingApplication;
import org.apache.rocketmq.proxy.processor.MessagingProcessor;

/**
 * Apache's proxy with a broker inside, whose port for gRPC is that of 127.0.0.1 alone: its own start knows no address to listen at.
 *
 * <p>Its arguments are "-c" and the broker's file, beside which lies the proxy's, rmq-proxy.json.
 */
public class LoopbackProxy extends ProxyStartup {
    public static void main(String[] args) {
        try {
            start(args[1]);
        } catch (Exception problem) {
            problem.printStackTrace();
            System.exit(1);
        }
    }

    private static void start(String broker) throws Exception {
        String proxy = broker.substring(0, broker.lastIndexOf('/') + 1) + "rmq-proxy.json";
        initConfiguration(parseCommandLineArgument(new String[] {
            "-pm", "local", "-bc", broker, "-pc", proxy, "-n", System.getenv("NAMESRV_ADDR")}));
        ThreadPoolExecutor executor = createServerExecutor();
        MessagingProcessor processor = createMessagingProcessor();
        GrpcMessagingApplication application = GrpcMessagingApplication.create(processor);
        Started started = new Started();
        started.add(brokerAndProcessor());
        started.add(application);
        started.add(new Builder(executor).addService(application).configInterceptor().build());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                started.preShutdown();
                started.shutdown();
            } catch (Exception problem) {
                problem.printStackTrace();
            }
        }));
        started.start();
    }

    /** What createMessagingProcessor() made, and keeps for the start that is not used here. */
    private static StartAndShutdown brokerAndProcessor() throws ReflectiveOperationException {
        Field field = ProxyStartup.class.getDeclaredField("PROXY_START_AND_SHUTDOWN");
        field.setAccessible(true);
        return (StartAndShutdown) field.get(null);
    }

    private static class Started extends AbstractStartAndShutdown {
        void add(StartAndShutdown part) {
            appendStartAndShutdown(part);
        }
    }

    private static class Builder extends GrpcServerBuilder {
        Builder(ThreadPoolExecutor executor) {
            super(executor, ConfigurationManager.getProxyConfig().getGrpcServerPort());
            serverBuilder = NettyServerBuilder
                .forAddress(new InetSocketAddress("127.0.0.1", ConfigurationManager.getProxyConfig().getGrpcServerPort()))
                .protocolNegotiator(new ProxyAndTlsProtocolNegotiator())
                .maxInboundMessageSize(ConfigurationManager.getProxyConfig().getGrpcMaxInboundMessageSize())
                .executor(executor);
        }
    }
}
