import java.io.ByteArrayInputStream;
import org.apache.rocketmq.broker.BrokerStartup;
import org.apache.rocketmq.namesrv.NamesrvStartup;

/**
 * Loads what name servers, brokers and clients use: one of each in this process, for the JVM to keep their classes.
 *
 * <p>Words: a folder with the files `ns.conf` and `broker.conf`, and the name server's address.
 */
public class ClassArchive {
    public static void main(String[] args) throws Exception {
        System.setProperty("rocketmq.home.dir", args[0]);
        System.setIn(new ByteArrayInputStream(new byte[0]));
        NamesrvStartup.main0(new String[] {"-c", args[0] + "/ns.conf"});
        BrokerStartup.start(BrokerStartup.createBrokerController(new String[] {"-c", args[0] + "/broker.conf"}));
        for (String mode : new String[] {"sync", "async", "batch", "big"}) Interop.send(args[1], "classes", mode, 4);
        Interop.queues(args[1], "classes");
        Interop.consume(args[1], "classes", "classes_group", "*", "clustering");
        // An orderly end takes a broker ten seconds.
        Runtime.getRuntime().halt(0);
    }
}
