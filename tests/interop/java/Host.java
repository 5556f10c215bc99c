import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * Runs programs of this folder in one process, one after or beside the other: most of what a client costs is its JVM's start.
 *
 * <p>A line of input is a number, and "start" with a class and its words, or "close", which ends the input of that program.
 * Whatever a thread prints that a program has started, or one of its threads, begins with that number; "ended" and a code
 * are its last words.
 */
public class Host {
    private static final InheritableThreadLocal<String> NUMBER = new InheritableThreadLocal<>();
    private static final Map<String, CountDownLatch> CLOSED = new ConcurrentHashMap<>();

    /** What ends a program where its process goes on. */
    static class Ended extends Error {
        final int code;

        Ended(int code) {
            super(null, null, false, false);
            this.code = code;
        }
    }

    /** Whether the calling thread is one of a program that runs here. */
    static boolean runs() {
        return NUMBER.get() != null;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setIn(new Input());
        System.setOut(new Output());
        for (String line; (line = lines.readLine()) != null; ) {
            String[] words = line.split("\t", -1);
            if (words[1].equals("close")) CLOSED.get(words[0]).countDown();
            else start(words[0], words[2], Arrays.copyOfRange(words, 3, words.length));
        }
        System.exit(0);
    }

    private static void start(String number, String program, String[] words) {
        CLOSED.put(number, new CountDownLatch(1));
        Thread thread = new Thread(() -> {
            NUMBER.set(number);
            System.out.println("ended\t" + run(program, words));
        });
        thread.setDaemon(true);
        thread.start();
    }

    private static int run(String program, String[] words) {
        try {
            Class.forName(program).getMethod("main", String[].class).invoke(null, (Object) words);
            return 0;
        } catch (InvocationTargetException wrapped) {
            if (wrapped.getCause() instanceof Ended) return ((Ended) wrapped.getCause()).code;
            wrapped.getCause().printStackTrace();
        } catch (ReflectiveOperationException problem) {
            problem.printStackTrace();
        }
        return 1;
    }

    /** The input of the program that reads it: nothing, until it is closed. */
    private static class Input extends InputStream {
        @Override
        public int read() {
            try {
                CLOSED.get(NUMBER.get()).await();
            } catch (InterruptedException problem) {
                Thread.currentThread().interrupt();
            }
            return -1;
        }
    }

    private static class Output extends PrintStream {
        Output() {
            super(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        }

        @Override
        public void println(Object line) {
            println(String.valueOf(line));
        }

        @Override
        public void println(String line) {
            super.println(NUMBER.get() + "\t" + line);
        }
    }
}
