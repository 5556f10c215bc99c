import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.logging.org.slf4j.LoggerFactory;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs mqadmin's commands, one a line of input, words parted by tabs; says what each prints, with its errors.
 *
 * <p>Words: the name server, and what it signs with, access key and secret key, if it does.
 */
public class Mqadmin {
    static final long MILLIS_MAX = 20_000;

    public static void main(String[] args) throws Exception {
        System.setProperty("rocketmq.namesrv.addr", args[0]);
        RPCHook hook = args.length > 1 ? new AclClientRPCHook(new SessionCredentials(args[1], args[2])) : null;
        PrintStream out = System.out, err = System.err;
        LoggerFactory.getLogger("before output is caught").info("it writes to the console");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = input.readLine()) != null; ) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream both = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(both);
            System.setErr(both);
            run(line.isEmpty() ? new String[0] : line.split("\t"), hook);
            System.setOut(out);
            System.setErr(err);
            for (String each : printed.toString(StandardCharsets.UTF_8).split("\n")) {
                Interop.say("prints", each.replace('\t', ' '));
            }
            Interop.say("done");
        }
        System.exit(0);
    }

    static void run(String[] words, RPCHook hook) throws Exception {
        Thread command = new Thread(() -> Commands.run(words, hook));
        command.setDaemon(true);
        command.start();
        long end = System.currentTimeMillis() + MILLIS_MAX;
        for (command.join(20); command.isAlive(); command.join(20)) {
            if (isIdle(command.getStackTrace()) || System.currentTimeMillis() > end) command.interrupt();
        }
    }

    /** Each waits for a thread of its client for seconds at its end; clusterRT sleeps, and would begin again. */
    static boolean isIdle(StackTraceElement[] stack) {
        return Arrays.stream(stack).anyMatch(at -> at.getMethodName().equals("shutdown")
                && at.getClassName().endsWith(".ServiceThread"))
            || stack.length > 1 && stack[0].getMethodName().equals("sleep")
                && stack[1].getClassName().endsWith(".CLusterSendMsgRTCommand");
    }

    static class Commands extends MQAdminStartup {
        static void run(String[] words, RPCHook hook) {
            SUB_COMMANDS.clear(); // those of the command before have been shut down with it
            main0(words, hook);
        }
    }
}
