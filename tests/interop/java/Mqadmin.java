import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.rocketmq.logging.org.slf4j.LoggerFactory;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Runs mqadmin's commands, one a line of input, words parted by tabs; says what each prints, with its errors. */
public class Mqadmin extends MQAdminStartup {
    static final long MILLIS_MAX = 20_000;

    public static void main(String[] args) throws Exception {
        System.setProperty("rocketmq.namesrv.addr", args[0]);
        PrintStream out = System.out, err = System.err;
        LoggerFactory.getLogger("before output is caught").info("it writes to the console");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = input.readLine()) != null; ) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream both = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(both);
            System.setErr(both);
            run(line.split("\t"));
            System.setOut(out);
            System.setErr(err);
            for (String each : printed.toString(StandardCharsets.UTF_8).split("\n")) {
                Interop.say("prints", each.replace('\t', ' '));
            }
            Interop.say("done");
        }
        System.exit(0);
    }

    /** Some go on until they are interrupted, and each waits for a thread of its client for seconds at its end. */
    static void run(String[] words) throws Exception {
        SUB_COMMANDS.clear();  // those of the last command have been shut down with it
        Thread command = new Thread(() -> main0(words, null));
        command.setDaemon(true);
        command.start();
        long end = System.currentTimeMillis() + MILLIS_MAX;
        for (command.join(20); command.isAlive(); command.join(20)) {
            boolean ends = Arrays.stream(command.getStackTrace()).anyMatch(at ->
                at.getMethodName().equals("shutdown") && at.getClassName().endsWith(".ServiceThread"));
            if (ends || System.currentTimeMillis() > end) command.interrupt();
        }
    }
}
