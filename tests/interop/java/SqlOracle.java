import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.filter.SqlFilter;
import org.apache.rocketmq.filter.expression.EvaluationContext;
import org.apache.rocketmq.filter.expression.Expression;

/**
 * Says what the reference makes of expressions. A file holds sets of properties (lines "p name value name value …"),
 * then expressions (lines "e text"), all words in hexadecimal UTF-8; one line of facts for each expression.
 */
public class SqlOracle {
    public static void main(String[] args) throws Exception {
        List<Map<String, String>> sets = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] words = line.split(" ", -1);
            if (words[0].equals("p")) {
                Map<String, String> set = new HashMap<>();
                for (int i = 1; i + 1 < words.length; i += 2) set.put(text(words[i]), text(words[i + 1]));
                sets.add(set);
            } else {
                Interop.say("result", result(text(words[1]), sets));
            }
        }
        System.exit(0);
    }

    static String text(String hex) {
        byte[] bytes = new byte[hex.length() / 2];
        for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) Integer.parseInt(hex.substring(2 * i, 2 * i + 2), 16);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static String result(String sql, List<Map<String, String>> sets) {
        Expression compiled;
        try {
            compiled = new SqlFilter().compile(sql);
        } catch (Throwable problem) {
            return "broken";
        }
        StringBuilder results = new StringBuilder();
        for (Map<String, String> set : sets) {
            String found;
            try {
                found = String.valueOf(compiled.evaluate(new EvaluationContext() {
                    public Object get(String name) { return set.get(name); }
                    public Map<String, Object> keyValues() { return null; }
                }));
            } catch (Throwable problem) {
                found = "error";
            }
            results.append(results.length() == 0 ? "" : ",").append(found);
        }
        return results.toString();
    }
}
