import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Runs mqadmin's commands, one a line of input, words parted by tabs; says what each prints. */
public class Mqadmin {
    public static void main(String[] args) throws Exception {
        PrintStream facts = System.out;
        System.setProperty("rocketmq.namesrv.addr", args[0]);
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = input.readLine()) != null; ) {
            for (String each : run(line.split("\t")).split("\n")) {
                facts.println("fact\tprints\t" + each.replace('\t', ' '));
            }
            facts.println("fact\tdone");
            facts.flush();
        }
        System.exit(0);
    }

    /** All that a command prints, with the traces of what it raises; some go on until they are interrupted. */
    static String run(String[] words) throws Exception {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream out = System.out, err = System.err, both = new PrintStream(printed, true, StandardCharsets.UTF_8);
        System.setOut(both);
        System.setErr(both);
        try {
            Thread command = new Thread(() -> MQAdminStartup.main0(words, null));
            command.setDaemon(true);
            command.start();
            command.join(TimeUnit.SECONDS.toMillis(Long.getLong("seconds", 30)));
            if (command.isAlive()) {
                command.interrupt();
                both.println("(still running)");
            }
        } finally {
            System.setOut(out);
            System.setErr(err);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }
}
