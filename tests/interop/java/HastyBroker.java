import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.BrokerStartup;

/** Apache's broker which, while it is a slave, copies its master's tables each second: by itself it would each minute. */
public class HastyBroker {
    static final long PAUSE_MS = 1000;

    public static void main(String[] args) throws Exception {
        BrokerController broker = BrokerStartup.start(BrokerStartup.createBrokerController(args));
        while (broker.getBrokerConfig().getBrokerId() != 0) {
            Thread.sleep(PAUSE_MS);
            broker.getSlaveSynchronize().syncAll();
        }
    }
}
